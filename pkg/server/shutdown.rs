//! The orderly end of a service.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Service;

impl Service {
    /// Ends the service: no run begins any more, those that are under way have this long to come to their end. Then those that have not are
    /// put away, and the next process goes on with them ([`recover`](Self::recover)); where the stores do not
    /// [outlive this one](crate::store::RunStore::outlives_process), they are cancelled. Last, streams end: their readers come back to the
    /// next process.
    ///
    /// # Cancel safety
    ///
    /// The end that has begun goes on when the wait is dropped; a second call waits for the rest.
    pub async fn shutdown(&self, grace: Duration) {
        let inside = &self.0;
        inside.sweeping.end();
        inside.tasks.close();
        inside.places.close();
        if tokio::time::timeout(grace, inside.tasks.wait()).await.is_err() {
            if inside.stores.runs.outlives_process() {
                inside.away.cancel();
            } else {
                inside.runs.all().iter().for_each(|run| run.cancel.cancel());
            }
            inside.tasks.wait().await;
        }
        inside.ends.cancel();
    }

    /// Returns what ends streams.
    pub(super) fn ends(&self) -> CancellationToken {
        self.0.ends.clone()
    }
}
