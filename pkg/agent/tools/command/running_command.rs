//! A running command.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use cap_std::fs::Dir;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    time::{Instant, timeout_at},
};

use super::output::{ClippedOutput, TextPieces};
use crate::tools::{ToolContext, ToolError, process_group::ProcessGroup};

/// Maximum wait for the rest of the output, once the command has ended and the processes that it started are killed.
const AFTER_EXIT: Duration = Duration::from_millis(250);

/// Number of bytes read at a time.
const READ_BYTES: usize = 8 << 10;

/// An allowed command, and the way in which it is run.
pub(super) struct RunningCommand {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) folder: Dir,
    /// The folder's path, for systems on which an open folder has no path of its own.
    pub(super) path: PathBuf,
    pub(super) variables: Vec<(String, OsString)>,
    pub(super) timeout: Duration,
    pub(super) max_output_bytes: usize,
}

/// One of the two streams of a command.
struct OutputStream<R> {
    /// `None` once the stream has ended.
    from: Option<R>,
    pieces: TextPieces,
}

/// The way in which a command ends.
enum CommandEnd {
    Exited(io::Result<ExitStatus>),
    TimedOut,
    Cancelled,
}

impl RunningCommand {
    /// Runs the command to its end.
    pub(super) async fn run(self, context: ToolContext) -> Result<String, ToolError> {
        let program = self.program.display().to_string();
        let failed = |what: &str, error: &io::Error| {
            ToolError::failed(format!("`{program}` cannot be {what}: {}", error.kind()))
        };
        let mut group = self.spawn().map_err(|error| failed("started", &error))?;
        let mut out = OutputStream::new(group.leader().stdout().take());
        let mut err = OutputStream::new(group.leader().stderr().take());
        let mut kept = ClippedOutput::new(self.max_output_bytes);
        let deadline = Instant::now().checked_add(self.timeout);
        let end = loop {
            tokio::select! {
                biased;
                () = context.cancelled().cancelled() => break CommandEnd::Cancelled,
                () = until(deadline) => break CommandEnd::TimedOut,
                bytes = out.read_piece(), if out.is_open() => out.take(&bytes, &mut kept, &context).await,
                bytes = err.read_piece(), if err.is_open() => err.take(&bytes, &mut kept, &context).await,
                status = group.leader().wait() => break CommandEnd::Exited(status),
            }
        };
        // Also ends processes that the command started and left behind.
        group.kill();
        let rest = Instant::now() + AFTER_EXIT;
        if matches!(end, CommandEnd::Exited(_)) {
            // A process that has left the group may hold the streams open.
            let _ended = timeout_at(rest, async {
                while out.is_open() || err.is_open() {
                    tokio::select! {
                        bytes = out.read_piece(), if out.is_open() => out.take(&bytes, &mut kept, &context).await,
                        bytes = err.read_piece(), if err.is_open() => err.take(&bytes, &mut kept, &context).await,
                    }
                }
            })
            .await;
        } else {
            let _reaped = timeout_at(rest, group.leader().wait()).await;
        }
        let text = kept.into_text();
        match end {
            CommandEnd::Cancelled => Err(ToolError::Cancelled { abandoned: false }),
            CommandEnd::TimedOut => Err(ToolError::transient(format!(
                "the command did not end within {:?}; it and what it started were killed\n{text}",
                self.timeout
            ))),
            CommandEnd::Exited(Err(error)) => Err(failed("waited for", &error)),
            CommandEnd::Exited(Ok(status)) => Ok(format!("{}\n{text}", told(status))),
        }
    }

    fn spawn(&self) -> io::Result<ProcessGroup> {
        let folder = working_folder(&self.folder, &self.path)?;
        ProcessGroup::spawn(&self.program, |command| {
            command
                .args(&self.arguments)
                .env_clear()
                .envs(self.variables.iter().map(|(name, value)| (name, value)))
                .current_dir(folder)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        })
    }
}

impl<R: AsyncRead + Unpin> OutputStream<R> {
    fn new(from: Option<R>) -> Self {
        Self { from, pieces: TextPieces::default() }
    }

    fn is_open(&self) -> bool {
        self.from.is_some()
    }

    /// Reads the available bytes; returns none when the stream has ended.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, nothing has been read.
    async fn read_piece(&mut self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(READ_BYTES);
        match &mut self.from {
            Some(from) => from.read_buf(&mut bytes).await.map_or_else(|_| Vec::new(), |_| bytes),
            None => Vec::new(),
        }
    }

    /// Keeps the bytes that were read, and emits them.
    async fn take(&mut self, bytes: &[u8], kept: &mut ClippedOutput, context: &ToolContext) {
        if bytes.is_empty() {
            self.from = None;
            return;
        }
        kept.push(bytes);
        context.output(&self.pieces.push(bytes)).await;
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Returns a path of the open folder itself, whatever has replaced its name.
#[cfg(target_os = "linux")]
fn working_folder(folder: &Dir, _: &Path) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd as _;

    let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    if path.is_dir() { Ok(path) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// Returns the path of the folder, which may have been replaced by a link by now.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "Linux looks at it")]
fn working_folder(_: &Dir, path: &Path) -> io::Result<PathBuf> {
    Ok(path.to_owned())
}

fn told(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("ended by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => "ended without an exit code".to_owned(),
    }
}
