//! The time limit of operations.

use std::time::Duration;

use super::StoreError;

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
