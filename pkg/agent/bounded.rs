//! Work of others that a run waits for before it begins.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt as _;
use tokio::time::timeout;

use super::panic::text;
use crate::types::{AgentError, ErrorCode};

/// Awaits the work of `what` within its time; a panic is an error. What is optional is left out where it fails.
pub(super) async fn bounded<T: Default>(
    what: &str,
    limit: Duration,
    is_optional: bool,
    work: impl Future<Output = Result<T, AgentError>>,
) -> Result<T, AgentError> {
    let made = timeout(limit, AssertUnwindSafe(work).catch_unwind()).await;
    let made = made.unwrap_or_else(|_| {
        let message = format!("{what} took longer than {limit:?}");
        Ok(Err(AgentError::new(ErrorCode::Timeout, message)))
    });
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
