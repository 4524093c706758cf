//! The tasks of a node: one that says each second that it is alive, and one that looks after runs.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::time::timeout;

use crate::lifecycle::RunLifecycle;
use forgeline_store::StoreError;

/// The time between two beats, and between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// Reports an outage of the store once.
#[derive(Debug)]
struct OutageNote {
    what: &'static str,
    is_out: bool,
}

impl OutageNote {
    fn new(what: &'static str) -> Self {
        Self { what, is_out: false }
    }

    fn see(&mut self, done: &Result<(), StoreError>) {
        match done {
            Ok(()) if self.is_out => tracing::info!("the store is back: {} again", self.what),
            Err(error) if !self.is_out => {
                tracing::error!(%error, "the store fails: {} is tried each second", self.what);
            }
            Ok(()) | Err(_) => {}
        }
        self.is_out = done.is_err();
    }
}

impl RunLifecycle {
    /// Starts the tasks of the node on a shared store, until the service ends or its last clone is dropped.
    pub(crate) fn start_node(self: &Arc<Self>) {
        if !self.stores.runs.is_shared() {
            return;
        }
        let Some(ends) = self.membership.begin() else { return };
        let (beating, looking) = (Arc::downgrade(self), Arc::downgrade(self));
        // Not among the tasks that a shutdown waits for: the node lives until its last run is released.
        let until = ends.clone();
        tokio::spawn(async move {
            let mut note = OutageNote::new("the beat of this node");
            loop {
                let Some(this) = beating.upgrade() else { return };
                note.see(&this.beat().await);
                drop(this);
                if timeout(EVERY, until.cancelled()).await.is_ok() {
                    return;
                }
            }
        });
        tokio::spawn(async move {
            let mut note = OutageNote::new("the claim of runs");
            while timeout(EVERY, ends.cancelled()).await.is_err() {
                let Some(this) = looking.upgrade() else { return };
                let looked = this.look().await;
                note.see(&looked.map(drop));
            }
        });
    }

    /// Records that this node is alive.
    pub(super) async fn beat(&self) -> Result<(), StoreError> {
        let beaten = self.stores.runs.beat(&self.node).await;
        match &beaten {
            Ok(()) => self.membership.beaten(),
            Err(_) => {
                self.membership.counts.failed_beats.fetch_add(1, Ordering::Relaxed);
            }
        }
        beaten
    }
}
