//! The program's end.

use std::{fmt, io, io::Write as _, process::ExitCode};

/// The end of the program; the number is its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// The run ended in an error event, or something else failed.
    Failed = 1,
    /// The command was used wrongly; nothing was run.
    Usage = 2,
    /// The user interrupted it.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error for the user to correct: a flag, a path, a name. Ends the program with 2.
#[derive(Debug)]
struct UsageError {
    message: String,
    source: Option<anyhow::Error>,
}

impl fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for UsageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(AsRef::as_ref)
    }
}

/// The end of a program that the user interrupted while it began.
#[derive(Debug, Clone, Copy)]
pub struct InterruptedStart;

impl fmt::Display for InterruptedStart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("interrupted")
    }
}

impl std::error::Error for InterruptedStart {}

/// Returns a usage error; `message` says what is wrong and what to do.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    UsageError { message: message.into(), source: None }.into()
}

/// Turns failures into usage errors.
pub trait UsageResult<T> {
    /// Returns the value, or a usage error with this message and the failure as its cause.
    ///
    /// # Errors
    ///
    /// When there is no value.
    fn usage_context(self, message: impl FnOnce() -> String) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> UsageResult<T> for Result<T, E> {
    fn usage_context(self, message: impl FnOnce() -> String) -> anyhow::Result<T> {
        self.map_err(|error| UsageError { message: message(), source: Some(error.into()) }.into())
    }
}

/// Returns the exit of a command's result, and its message for stderr.
pub fn conclude(result: anyhow::Result<Exit>) -> (Exit, Option<String>) {
    let error = match result {
        Ok(exit) => return (exit, None),
        Err(error) => error,
    };
    if is_broken_pipe(&error) {
        return (Exit::Done, None);
    }
    if error.is::<InterruptedStart>() {
        return (Exit::Interrupted, None);
    }
    let exit = if error.is::<UsageError>() { Exit::Usage } else { Exit::Failed };
    (exit, Some(format!("{error:#}")))
}

/// Says on stderr what went wrong and what to do; nothing more can be done when that fails.
pub fn complain(message: &str) {
    let style = owo_colors::Style::new().red().bold();
    note(&format!("{} {message}", style.style("error:")));
}

/// Says something on stderr.
pub fn note(message: &str) {
    drop(writeln!(anstream::stderr().lock(), "{message}"));
}

/// Returns `true` when the reader of the output went away (`| head`), which is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_failure_has_its_exit_code() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        let unreadable: Result<(), _> = Err(io::Error::from(io::ErrorKind::NotFound));
        #[rustfmt::skip]
        let cases = [
            ("done",         Ok(Exit::Done),                                             Exit::Done),
            ("interrupted",  Ok(Exit::Interrupted),                                      Exit::Interrupted),
            ("stopped early", Err(InterruptedStart.into()),                                   Exit::Interrupted),
            ("usage",        Err(usage("no such dialect")),                              Exit::Usage),
            ("usage, cause", unreadable.usage_context(|| "cannot".into()).map(|()| Exit::Done), Exit::Usage),
            ("other",        Err(anyhow::anyhow!("disk full")),                          Exit::Failed),
            ("broken pipe",  Err(anyhow::Error::from(broken()).context("writing")),      Exit::Done),
        ];
        for (name, result, want) in cases {
            assert_eq!(conclude(result).0, want, "{name}");
        }
    }
}
