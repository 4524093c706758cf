//! The tasks of a node: one that says each second that it is alive, and one that looks after the runs of which it then learns.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{sync::watch, time::timeout};

use crate::lifecycle::RunLifecycle;
use forgeline_store::{NodeNews, StoreError};

/// The time between two beats.
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

    fn see<T>(&mut self, done: &Result<T, StoreError>) {
        match done {
            Ok(_) if self.is_out => tracing::info!("the store is back: {} again", self.what),
            Err(error) if !self.is_out => {
                tracing::error!(%error, "the store fails: {} is tried each second", self.what);
            }
            Ok(_) | Err(_) => {}
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
        // A look may take longer than a beat may be late.
        let (learns, mut learned) = watch::channel(NodeNews::new(0, false));
        tokio::spawn(async move {
            let mut note = OutageNote::new("the beat of this node");
            loop {
                let Some(this) = beating.upgrade() else { return };
                let beaten = this.beat().await;
                note.see(&beaten);
                drop(this);
                if let Ok(news) = beaten {
                    learns.send_replace(news);
                }
                if timeout(EVERY, until.cancelled()).await.is_ok() {
                    return;
                }
            }
        });
        tokio::spawn(async move {
            let mut note = OutageNote::new("the claim of runs");
            // The node that joins looks for itself after the first beat.
            ends.run_until_cancelled(learned.changed()).await;
            while let Some(Ok(())) = ends.run_until_cancelled(learned.changed()).await {
                let Some(this) = looking.upgrade() else { return };
                let news = *learned.borrow_and_update();
                note.see(&this.look(news).await);
            }
        });
    }

    /// Records that this node is alive; returns what it has to look after.
    pub(super) async fn beat(&self) -> Result<NodeNews, StoreError> {
        match self.stores.runs.beat_with(&self.node, self.usage.connections()).await {
            Ok((news, elsewhere)) => {
                self.membership.beaten();
                if let Some(elsewhere) = elsewhere {
                    self.usage.set_elsewhere(elsewhere);
                }
                Ok(news)
            }
            Err(error) => {
                self.membership.counts.failed_beats.fetch_add(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }
}
