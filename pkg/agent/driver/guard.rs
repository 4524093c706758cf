//! Limits on the time and the panics of one call, and on the work of a journal.

use std::time::Duration;

use tokio::task::JoinError;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::event_emitter::EventEmitter;
use crate::{
    config::AgentConfig,
    steering::QuestionDesk,
    support::text,
    tools::{ToolError, ToolOutput},
};
use forgeline_types::AgentError;

/// Awaits the task of a tool within its time limit. A panic becomes an error; a tool that does not
/// stop when asked to `stop` is dropped, or abandoned where it blocks its thread.
pub(super) async fn guard(
    config: &AgentConfig,
    (desk, call_id, limit): (&QuestionDesk, &str, Duration),
    mut work: AbortOnDropHandle<Result<ToolOutput, ToolError>>,
    cancel: &CancellationToken,
    stop: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let timed_out = tokio::select! {
        biased;
        done = &mut work => return done.unwrap_or_else(|failed| Err(broken(failed))),
        () = cancel.cancelled() => false,
        () = desk.worked(call_id, limit) => true,
    };
    stop.cancel();
    match tokio::time::timeout(config.tool_grace, &mut work).await {
        _ if timed_out => Err(ToolError::TimedOut { after: limit }),
        Ok(Ok(Ok(output))) => Ok(output),
        stopped => Err(ToolError::Cancelled { abandoned: stopped.is_err() }),
    }
}

/// Awaits `work`; returns `None` when the run is cancelled first.
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

/// Awaits the work of a journal; when the run is cancelled, that work gets the same grace period as a tool.
pub(super) async fn unless_stopped(
    emitter: &EventEmitter,
    grace: Duration,
    work: impl Future<Output = Result<(), AgentError>>,
) -> Result<(), AgentError> {
    let stopped = async {
        emitter.cancel().cancelled().await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        biased;
        done = work => done,
        () = stopped => Err(emitter.stop_reason().error()),
    }
}

/// Returns the error of a task that returned no result.
fn broken(failed: JoinError) -> ToolError {
    let Ok(panic) = failed.try_into_panic() else {
        return ToolError::Cancelled { abandoned: true };
    };
    ToolError::Panicked { message: text(&*panic).to_owned() }
}
