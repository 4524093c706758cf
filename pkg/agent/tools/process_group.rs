//! A process and its descendants.

use std::{ffi::OsStr, fmt, io};

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::process::Command;

/// Variables that are passed on to a process whose environment is cleared.
pub(crate) const PASSED: [&str; 5] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"];

/// Further variables, without which programs do not start on Windows.
#[cfg(windows)]
pub(crate) const PASSED_TOO: [&str; 4] = ["SystemRoot", "SystemDrive", "PATHEXT", "TEMP"];
#[cfg(not(windows))]
pub(crate) const PASSED_TOO: [&str; 0] = [];

/// A process group, which is killed when this is dropped.
pub(crate) struct ProcessGroup(Box<dyn ChildWrapper>);

impl ProcessGroup {
    /// Starts a program as the leader of a group.
    pub(crate) fn spawn(
        program: impl AsRef<OsStr>,
        set_up: impl FnOnce(&mut Command),
    ) -> io::Result<Self> {
        let mut command = CommandWrap::with_new(program, set_up);
        command.wrap(KillOnDrop);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        command.spawn().map(Self)
    }

    /// Returns the leader, with its streams.
    pub(crate) fn leader(&mut self) -> &mut dyn ChildWrapper {
        &mut *self.0
    }

    /// Returns `true` once the leader has ended, even if processes that it started continue.
    #[cfg(feature = "mcp")]
    pub(crate) fn has_ended(&mut self) -> bool {
        // Only the leader is checked, through its own handle: a group that was waited for elsewhere
        // is killed by a number that may belong to another process by then.
        !matches!(self.0.inner_mut().try_wait(), Ok(None))
    }

    /// Kills the rest of the group.
    pub(crate) fn kill(&mut self) {
        // A group that has ended cannot be killed.
        let _killed = self.0.start_kill();
    }
}

impl fmt::Debug for ProcessGroup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ProcessGroup").finish_non_exhaustive()
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
