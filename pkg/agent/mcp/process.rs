//! The process of a server.

use std::{
    io,
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use secrecy::ExposeSecret as _;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::McpServer;
use crate::agent::tools::process_group::{PASSED, PASSED_TOO, ProcessGroup};

/// Variables passed to servers in addition to those passed to commands, since programs that start servers use them.
const OF_SERVERS: [&str; 2] = ["USER", "APPDATA"];

/// The pause between two checks of a process, where the system does not report its end.
const EXIT_PAUSE: Duration = Duration::from_millis(500);

/// A running process, which is killed when its last handle is dropped.
pub(super) type Held = Arc<Mutex<ProcessGroup>>;

/// The number of a server's start.
pub(super) type Attempt = u64;

/// A slot that holds the process of a server, so that it can be killed.
#[derive(Debug, Default)]
pub(super) struct Place(Mutex<Inside>);

#[derive(Debug, Default)]
struct Inside {
    /// The start that may put a process into this slot.
    attempt: Attempt,
    may: May,
    group: Weak<Mutex<ProcessGroup>>,
}

/// The processes that may run in a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum May {
    #[default]
    Run,
    /// Not the process of the last start, only later ones.
    Later,
    Never,
}

impl Place {
    /// Begins another start.
    pub(super) fn begin(&self) -> Attempt {
        let mut inside = self.inside();
        inside.attempt += 1;
        if inside.may == May::Later {
            inside.may = May::Run;
        }
        inside.attempt
    }

    /// Stores a process that has just been started, or kills it if it may not run any more.
    pub(super) fn hold(&self, attempt: Attempt, mut group: ProcessGroup) -> Held {
        let mut inside = self.inside();
        let is_last = inside.attempt == attempt;
        if inside.may != May::Run || !is_last {
            group.kill();
        }
        let group = Arc::new(Mutex::new(group));
        if is_last {
            inside.group = Arc::downgrade(&group);
        }
        group
    }

    /// Kills the process of an abandoned start, even if the process is started later.
    pub(super) fn stop(&self, attempt: Attempt) {
        let mut inside = self.inside();
        if inside.attempt == attempt && inside.may == May::Run {
            inside.may = May::Later;
            inside.kill();
        }
    }

    /// Kills the process, and every process started later.
    pub(super) fn kill(&self) {
        let mut inside = self.inside();
        inside.may = May::Never;
        inside.kill();
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn kill(&self) {
        if let Some(group) = self.group.upgrade() {
            group.lock().unwrap_or_else(PoisonError::into_inner).kill();
        }
    }
}

/// Waits until a process has ended. Processes that it started may continue, and hold its output open.
pub(super) async fn ended(held: Weak<Mutex<ProcessGroup>>) {
    #[cfg(unix)]
    let children = tokio::signal::unix::SignalKind::child();
    // Created before the first check, so that no end is missed.
    #[cfg(unix)]
    let mut children = tokio::signal::unix::signal(children).ok();
    loop {
        let has_ended = held
            .upgrade()
            .is_none_or(|group| group.lock().unwrap_or_else(PoisonError::into_inner).has_ended());
        if has_ended {
            return;
        }
        #[cfg(unix)]
        if let Some(children) = &mut children {
            children.recv().await;
            continue;
        }
        tokio::time::sleep(EXIT_PAUSE).await;
    }
}

/// A started process, with its pipes.
pub(super) struct Process {
    pub(super) group: ProcessGroup,
    pub(super) output: ChildStdout,
    pub(super) input: ChildStdin,
    pub(super) errors: ChildStderr,
}

/// Starts a server.
pub(super) fn start(server: &McpServer) -> io::Result<Process> {
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
            .stderr(Stdio::piped());
        if let Some(folder) = &server.folder {
            command.current_dir(folder);
        }
    })?;
    let (output, input, errors) = {
        let leader = group.leader();
        (leader.stdout().take(), leader.stdin().take(), leader.stderr().take())
    };
    let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
    let (output, input) = (output.ok_or_else(closed)?, input.ok_or_else(closed)?);
    Ok(Process { group, output, input, errors: errors.ok_or_else(closed)? })
}
