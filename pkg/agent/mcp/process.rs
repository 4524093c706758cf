//! The process of a server.

use std::{io, process::Stdio};

use secrecy::ExposeSecret as _;
use tokio::process::{ChildStdin, ChildStdout};

use super::McpServer;
use crate::agent::tools::process_group::{PASSED, PASSED_TOO, ProcessGroup};

/// Variables that servers see besides those of commands: the programs that start them look at them.
const OF_SERVERS: [&str; 2] = ["USER", "APPDATA"];

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
