//! A process and its descendants.

use std::{ffi::OsStr, fmt, io};

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::process::Command;

/// Variables that are passed on to a process whose environment is cleared.
///
/// Without the last four, programs do not start on Windows.
pub const PASSED: &[&str] = if cfg!(windows) {
    &["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SystemRoot", "SystemDrive", "PATHEXT", "TEMP"]
} else {
    &["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"]
};

/// Variables that say where toolchains and their caches are; none has a secret.
pub const TOOLCHAINS: &[&str] = &[
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "GRADLE_USER_HOME",
    "ANDROID_HOME",
    "NVM_DIR",
    "PNPM_HOME",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "DOTNET_ROOT",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "PKG_CONFIG_PATH",
];

/// A process group, which is killed when this is dropped.
pub struct ProcessGroup(Box<dyn ChildWrapper>);

impl ProcessGroup {
    /// Starts a program as the leader of a group; on Unix, of a session without a terminal.
    #[doc(hidden)]
    pub fn spawn(
        program: impl AsRef<OsStr>,
        set_up: impl FnOnce(&mut Command),
    ) -> io::Result<Self> {
        let mut command = CommandWrap::with_new(program, set_up);
        command.wrap(KillOnDrop);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessSession);
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        command.spawn().map(Self)
    }

    /// Returns the leader, with its streams.
    #[doc(hidden)]
    pub fn leader(&mut self) -> &mut dyn ChildWrapper {
        &mut *self.0
    }

    /// Returns `true` once the leader has ended, even if processes that it started continue.
    #[doc(hidden)]
    pub fn has_ended(&mut self) -> bool {
        // Only the leader is checked, through its own handle: a group that was waited for elsewhere
        // is killed by a number that may belong to another process by then.
        !matches!(self.0.inner_mut().try_wait(), Ok(None))
    }

    /// Kills the rest of the group.
    #[doc(hidden)]
    pub fn kill(&mut self) {
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
