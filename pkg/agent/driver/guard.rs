//! The bounds on one call: its time, its panics, the length of its result.

use tokio::task::JoinError;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::agent::{
    AgentConfig, feedback,
    panic::text,
    state::Failure,
    tools::{ToolError, ToolOutput},
};

/// Awaits the task of a tool within its time. A panic becomes an error; a tool that is told to `stop` and
/// does not is dropped, or left behind where it blocks its thread.
pub(super) async fn guard(
    config: &AgentConfig,
    mut work: AbortOnDropHandle<Result<ToolOutput, ToolError>>,
    cancel: &CancellationToken,
    stop: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let timed_out = tokio::select! {
        biased;
        done = &mut work => return done.unwrap_or_else(|failed| Err(broken(failed))),
        () = cancel.cancelled() => false,
        () = tokio::time::sleep(config.tool_timeout) => true,
    };
    stop.cancel();
    match tokio::time::timeout(config.tool_grace, &mut work).await {
        _ if timed_out => Err(ToolError::TimedOut { after: config.tool_timeout }),
        Ok(Ok(Ok(output))) => Ok(output),
        stopped => Err(ToolError::Cancelled { abandoned: stopped.is_err() }),
    }
}

/// Awaits `work` unless the run is cancelled; `None` then.
pub(super) async fn or_cancelled<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        done = work => Some(done),
    }
}

/// Returns the text that the model reads as the result.
pub(super) fn result_text(
    config: &AgentConfig,
    name: &str,
    result: Result<ToolOutput, ToolError>,
) -> Result<String, (Failure, String)> {
    let limit = config.max_result_chars;
    let error = match result {
        Ok(output) => return Ok(within(output.content, limit)),
        Err(error) => error,
    };
    let problem = within(feedback::brief(error.to_string()), limit);
    let failure = match error {
        ToolError::InvalidArguments { .. } => {
            return Err((Failure::Arguments, feedback::bad_arguments(&problem)));
        }
        ToolError::Failed { .. } => Failure::Failed,
        ToolError::Transient { .. } => Failure::Transient,
        ToolError::TimedOut { .. } => Failure::TimedOut,
        ToolError::Panicked { .. } => Failure::Panicked,
        ToolError::Cancelled { .. } => Failure::NotRun,
    };
    Err((failure, feedback::tool_failed(name, &problem)))
}

/// Returns the text, or a note in place of one that is too long.
fn within(text: String, limit: usize) -> String {
    // Characters are counted only where the bytes do not settle it.
    if text.len() <= limit {
        return text;
    }
    let chars = text.chars().count();
    if chars > limit { feedback::withheld(chars, limit) } else { text }
}

/// Returns the error of a task that gave no result.
fn broken(failed: JoinError) -> ToolError {
    let Ok(panic) = failed.try_into_panic() else {
        return ToolError::Cancelled { abandoned: true };
    };
    ToolError::Panicked { message: text(&*panic).to_owned() }
}
