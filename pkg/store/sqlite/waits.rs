//! Blocking work, and the error of a closed file.

use crate::StoreError;
pub(super) use crate::time_limit::within;

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
