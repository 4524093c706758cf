//! The periodic sweep of data that is not to be kept.

use std::{sync::Arc, time::Duration};

use tokio::time::timeout;

use super::DataRetention;

/// The time between two sweeps.
const SWEEP_EVERY: Duration = Duration::from_mins(1);

impl DataRetention {
    /// Starts sweeping once a minute, until the service ends or its last clone is dropped. A sweep that has begun runs to completion.
    pub(crate) fn start_sweeping(self: &Arc<Self>) {
        let Some(ends) = self.sweeping.begin() else { return };
        let retained = Arc::downgrade(self);
        self.tasks.spawn(async move {
            while timeout(SWEEP_EVERY, ends.cancelled()).await.is_err() {
                let Some(retention) = retained.upgrade() else { return };
                if let Err(error) = retention.sweep(&retention.keep).await {
                    tracing::warn!(?error, "expired data could not be removed");
                }
            }
        });
    }
}
