//! The process of a server.

use std::{
    io,
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use secrecy::ExposeSecret as _;
use tokio::process::{ChildStdin, ChildStdout};

use super::McpServer;
use crate::agent::tools::process_group::{PASSED, PASSED_TOO, ProcessGroup};

/// Variables that servers see besides those of commands: the programs that start them look at them.
const OF_SERVERS: [&str; 2] = ["USER", "APPDATA"];

/// A process that runs, until the last of its handles is dropped.
pub(super) type Held = Arc<Mutex<ProcessGroup>>;

/// The place at which the process of a server is found to be killed.
#[derive(Debug, Default)]
pub(super) struct Place(Mutex<Inside>);

#[derive(Debug, Default)]
struct Inside {
    is_closed: bool,
    group: Weak<Mutex<ProcessGroup>>,
}

impl Place {
    /// Keeps a process that has just been started; where none may run any more, it is killed.
    pub(super) fn hold(&self, mut group: ProcessGroup) -> Held {
        let mut inside = self.inside();
        if inside.is_closed {
            group.kill();
        }
        let group = Arc::new(Mutex::new(group));
        inside.group = Arc::downgrade(&group);
        group
    }

    /// Kills the process, and each that is started later.
    pub(super) fn kill(&self) {
        let mut inside = self.inside();
        inside.is_closed = true;
        if let Some(group) = inside.group.upgrade() {
            group.lock().unwrap_or_else(PoisonError::into_inner).kill();
        }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a server, with the ends of its output and input.
pub(super) fn start(server: &McpServer) -> io::Result<(ProcessGroup, ChildStdout, ChildStdin)> {
    let passed = PASSED.iter().chain(&PASSED_TOO).chain(&OF_SERVERS);
    let passed = passed.filter_map(|name| Some((*name, std::env::var_os(name)?)));
    let mut group = ProcessGroup::spawn(&server.command, |command| {
        command
            .args(&server.arguments)
            .env_clear()
            .envs(passed)
            .envs(server.variables.iter().map(|(name, value)| (name, value.expose_secret())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(folder) = &server.folder {
            command.current_dir(folder);
        }
    })?;
    let (output, input) = (group.leader().stdout().take(), group.leader().stdin().take());
    let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
    Ok((group, output.ok_or_else(closed)?, input.ok_or_else(closed)?))
}
