//! The periodic sweep of data that is not to be kept.

use std::{sync::Arc, time::Duration};

use tokio::time::timeout;

use crate::server::Service;

/// The time between two sweeps.
const SWEEP_EVERY: Duration = Duration::from_mins(1);

impl Service {
    /// Starts sweeping once a minute, until the service ends or its last clone is dropped. A sweep that has begun runs to completion.
    pub(crate) fn start_sweeping(&self) {
        let Some(ends) = self.0.sweeping.begin() else { return };
        let inside = Arc::downgrade(&self.0);
        self.spawn(async move {
            while timeout(SWEEP_EVERY, ends.cancelled()).await.is_err() {
                let Some(service) = inside.upgrade().map(Service) else { return };
                if let Err(error) = service.sweep(&service.0.keep).await {
                    tracing::warn!(?error, "expired data could not be removed");
                }
            }
        });
    }
}
