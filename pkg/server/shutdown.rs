//! The graceful shutdown of a service.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Service;

impl Service {
    /// Shuts the service down. No more runs start, and active runs have the duration `grace` to end. Runs that have not ended by then are suspended, and
    /// the next process continues them ([`recover`](Self::recover)); if the stores do not [outlive this
    /// process](crate::store::RunStore::outlives_process), those runs are cancelled. Finally, streams end: their readers reconnect to the next process.
    ///
    /// # Cancel safety
    ///
    /// A shutdown that has started continues when this future is dropped; a second call waits for the rest of it.
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

    /// Returns the token that is cancelled to end the streams.
    pub(super) fn ends(&self) -> CancellationToken {
        self.0.ends.clone()
    }
}
