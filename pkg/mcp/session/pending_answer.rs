//! Calls that wait for their responses.

use futures_util::FutureExt as _;
use rmcp::{
    ServiceError,
    model::ServerResult,
    service::{RequestHandle, RoleClient},
};

/// A pending call, which is cancelled at the server when it is dropped before its answer.
pub(crate) struct PendingAnswer(Option<RequestHandle<RoleClient>>);

impl PendingAnswer {
    pub(crate) fn new(handle: RequestHandle<RoleClient>) -> Self {
        Self(Some(handle))
    }

    /// Waits for the answer.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, nothing is lost.
    pub(crate) async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.0 else { return Err(ServiceError::TransportClosed) };
        let answer = (&mut handle.rx).await.unwrap_or(Err(ServiceError::TransportClosed));
        self.0 = None;
        answer
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        if let Some(handle) = self.0.take() {
            // One poll puts the message into the queue of the session; its delivery is not awaited.
            let _queued = handle.cancel(None).now_or_never();
        }
    }
}
