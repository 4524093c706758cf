//! The comparison of the runs that a node owns with those that it holds.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use crate::{lifecycle::RunLifecycle, runs::run::ServiceRun};
use forgeline_store::{RunWriter, StoreError};

impl RunLifecycle {
    /// Drops the runs that are held here under a claim that no longer holds, and gives back those that are owned and not held: the reply to their claim was
    /// lost, or they were dropped while the store could not be used. A node that neither owned nor holds a run has nothing to compare.
    pub(super) async fn compare(&self, owned: u64) -> Result<(), StoreError> {
        // Read first: a run that begins in this moment is in the store before it is in memory.
        let mut held = self.runs.active().all();
        held.retain(|run| !run.has_ended() && !run.fence().is_lost());
        if owned == 0 && held.is_empty() {
            self.membership.counts.owned.store(0, Ordering::Relaxed);
            return Ok(());
        }
        let owned = self.stores.runs.owned(&self.node).await?;
        self.membership.counts.owned.store(owned.len(), Ordering::Relaxed);
        let owned_now: HashMap<_, _> = owned.iter().map(|it| (&it.run, it.epoch)).collect();
        for run in &held {
            if owned_now.get(&run.key) != Some(&run.fence().writer().epoch) {
                self.drop_unowned(run).await?;
            }
        }
        let mut unheld = Vec::new();
        for writer in owned {
            if !self.holds(&writer) {
                unheld.push(writer);
            }
        }
        for writer in self.membership.unheld_again(unheld) {
            // A run that has ended since, or was taken, has no owner here.
            match self.stores.runs.release(&writer, Duration::ZERO).await {
                Ok(())
                | Err(
                    StoreError::Fenced { .. }
                    | StoreError::Ended { .. }
                    | StoreError::NotFound { .. },
                ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns `true` if a run is in memory, or is about to be.
    fn holds(&self, writer: &RunWriter) -> bool {
        let active = self.runs.active().find(&writer.run.scope, &writer.run.name);
        active.is_some_and(|run| !run.has_ended()) || self.membership.has_in_hand(&writer.run)
    }

    /// Drops a run unless it has ended meanwhile, or is owned after all.
    async fn drop_unowned(&self, run: &Arc<ServiceRun>) -> Result<(), StoreError> {
        let writer = run.fence().writer();
        match self.stores.runs.get(&run.key).await {
            Ok(record) if record.progress.has_ended() && record.epoch == writer.epoch => {}
            Ok(record)
                if record.epoch == writer.epoch && record.node.as_ref() == Some(&self.node) => {}
            Ok(_) => run.fence().lose(&StoreError::fenced(run.key.name.clone(), writer.epoch)),
            // Another node has deleted it.
            Err(error @ StoreError::NotFound { .. }) => {
                run.fence().lose(&error);
                self.runs.active().remove_own(run);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
