//! The process of a server.

use std::{
    ffi::OsString,
    io,
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use crate::config::mcp_server::McpServer;
use forgeline_agent::private::{PASSED, ProcessGroup, TOOLCHAINS};

/// Variables passed to servers in addition to those passed to commands, since programs that start servers use them.
const OF_SERVERS: [&str; 2] = ["USER", "APPDATA"];

/// The pause between two checks of a process, where the system does not report its end.
const EXIT_PAUSE: Duration = Duration::from_millis(500);

/// A running process, which is killed when its last handle is dropped.
pub(crate) type SharedProcessGroup = Arc<Mutex<ProcessGroup>>;

/// The number of a server's start.
pub(crate) type StartNumber = u64;

/// A slot that holds the process of a server, so that it can be killed.
#[derive(Debug, Default)]
pub(crate) struct ProcessSlot(Mutex<ProcessSlotInner>);

#[derive(Debug, Default)]
struct ProcessSlotInner {
    /// The start that may put a process into this slot.
    attempt: StartNumber,
    may: ProcessPermission,
    group: Weak<Mutex<ProcessGroup>>,
}

/// The processes that may run in a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ProcessPermission {
    #[default]
    Run,
    /// Not the process of the last start, only later ones.
    Later,
    Never,
}

impl ProcessSlot {
    /// Begins another start.
    pub(crate) fn begin(&self) -> StartNumber {
        let mut inside = self.inside();
        inside.attempt += 1;
        if inside.may == ProcessPermission::Later {
            inside.may = ProcessPermission::Run;
        }
        inside.attempt
    }

    /// Stores a process that has just been started, or kills it if it may not run any more.
    pub(crate) fn hold(&self, attempt: StartNumber, mut group: ProcessGroup) -> SharedProcessGroup {
        let mut inside = self.inside();
        let is_last = inside.attempt == attempt;
        if inside.may != ProcessPermission::Run || !is_last {
            group.kill();
        }
        let group = Arc::new(Mutex::new(group));
        if is_last {
            inside.group = Arc::downgrade(&group);
        }
        group
    }

    /// Kills the process of an abandoned start, even if the process is started later.
    pub(crate) fn stop(&self, attempt: StartNumber) {
        let mut inside = self.inside();
        if inside.attempt == attempt && inside.may == ProcessPermission::Run {
            inside.may = ProcessPermission::Later;
            inside.kill();
        }
    }

    /// Kills the process, and every process started later.
    pub(crate) fn kill(&self) {
        let mut inside = self.inside();
        inside.may = ProcessPermission::Never;
        inside.kill();
    }

    fn inside(&self) -> MutexGuard<'_, ProcessSlotInner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProcessSlotInner {
    fn kill(&self) {
        if let Some(group) = self.group.upgrade() {
            group.lock().unwrap_or_else(PoisonError::into_inner).kill();
        }
    }
}

/// Waits until a process has ended. Processes that it started may continue, and hold its output open.
pub(crate) async fn wait_for_exit(held: Weak<Mutex<ProcessGroup>>) {
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
pub(crate) struct ServerProcess {
    pub(crate) group: ProcessGroup,
    pub(crate) output: ChildStdout,
    pub(crate) input: ChildStdin,
    pub(crate) errors: ChildStderr,
}

/// Returns the variables of this process that a server sees: those that programs need to start, and those that say where toolchains are.
fn passed(
    variable: impl Fn(&str) -> Option<OsString>,
) -> impl Iterator<Item = (&'static str, OsString)> {
    let passed = PASSED.iter().chain(TOOLCHAINS).chain(&OF_SERVERS);
    passed.filter_map(move |name| Some((*name, variable(name)?)))
}

/// Starts a server.
pub(crate) fn start(server: &McpServer) -> io::Result<ServerProcess> {
    let passed = passed(|name| std::env::var_os(name));
    let mut group = ProcessGroup::spawn(&server.command, |command| {
        command
            .args(&server.arguments)
            .env_clear()
            .envs(passed)
            .envs(server.variables.iter().map(|(name, value)| (name, value.expose())))
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
    Ok(ServerProcess { group, output, input, errors: errors.ok_or_else(closed)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: N-43
    #[test]
    fn n43_a_server_sees_where_toolchains_are_and_no_other_variable() {
        // Each variable of this process that is asked for is set.
        let names: Vec<_> = passed(|name| Some(name.into())).map(|(name, _)| name).collect();
        for name in ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "VIRTUAL_ENV", "USER"]
        {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        for name in
            ["OPENAI_API_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "NODE_OPTIONS", "LD_PRELOAD"]
        {
            assert!(!names.contains(&name), "{name}: {names:?}");
        }
        // What is not set is not passed on empty.
        let set = passed(|name| (name == "GOPATH").then(|| "/go".into()));
        assert_eq!(set.collect::<Vec<_>>(), [("GOPATH", OsString::from("/go"))]);
    }
}
