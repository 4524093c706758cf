//! Waits: with a time limit, and for blocking work.

use std::time::Duration;

use crate::StoreError;

/// Maximum wait for a response.
pub(super) const WAIT: Duration = Duration::from_secs(10);

/// Limits a wait.
pub(super) async fn within<T>(
    work: impl Future<Output = Result<T, StoreError>> + Send,
) -> Result<T, StoreError> {
    match tokio::time::timeout(WAIT, work).await {
        Ok(done) => done,
        Err(_) => Err(StoreError::Slow { limit: WAIT }),
    }
}

/// Runs blocking work on a thread for such work, where it ends even if the future is dropped.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let gone = |_| StoreError::Unavailable { reason: "the process is shutting down".to_owned() };
    tokio::task::spawn_blocking(work).await.map_err(gone)?
}

/// Returns the error of an operation after the file was closed.
pub(super) fn closed() -> StoreError {
    StoreError::Unavailable { reason: "the file was closed".to_owned() }
}
