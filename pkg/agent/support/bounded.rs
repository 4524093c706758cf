//! Work outside the agent that a run awaits before it starts, within time limits.

use std::{panic::AssertUnwindSafe, pin::pin, time::Duration};

use futures_util::FutureExt as _;
use tokio::time::timeout;

use super::panic::text;
use forgeline_types::{AgentError, ErrorCode};

/// Maximum wait for work that is asking a person; a login ends before that.
const PERSON_TIMEOUT: Duration = Duration::from_mins(6);

/// Awaits the work named `what` within its time limit; a panic becomes an error. Optional work is left out if it fails.
pub(crate) async fn bounded<T: Default>(
    what: &str,
    limit: Duration,
    is_optional: bool,
    work: impl Future<Output = Result<T, AgentError>>,
) -> Result<T, AgentError> {
    bounded_unless(what, limit, is_optional, &|| false, work).await
}

/// Awaits work as [`bounded`] does; while the work is asking a person, its time limit starts anew.
pub(crate) async fn bounded_unless<T: Default>(
    what: &str,
    limit: Duration,
    is_optional: bool,
    is_asking: &(dyn Fn() -> bool + Sync),
    work: impl Future<Output = Result<T, AgentError>>,
) -> Result<T, AgentError> {
    let mut work = pin!(AssertUnwindSafe(work).catch_unwind());
    let mut waited = Duration::ZERO;
    let made = loop {
        if let Ok(made) = timeout(limit, &mut work).await {
            break made;
        }
        waited += limit;
        let may_wait = !limit.is_zero() && waited < PERSON_TIMEOUT;
        if !(may_wait && is_asking()) {
            let message = format!("{what} took longer than {waited:?}");
            break Ok(Err(AgentError::new(ErrorCode::Timeout, message)));
        }
    };
    let made = made.unwrap_or_else(|panic| {
        let message = format!("{what} panicked: {}", text(&*panic));
        Err(AgentError::new(ErrorCode::Internal, message))
    });
    made.or_else(|error| {
        if !is_optional {
            return Err(error);
        }
        tracing::warn!(%error, "{what} is optional, and is left out");
        Ok(T::default())
    })
}
