//! The runs that a node takes over.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
};

use tokio::task::JoinHandle;

use super::membership::RunInHand;
use crate::lifecycle::{RunLifecycle, STATE_VERSION, recover::Recovered};
use forgeline_store::{ConversationKey, StoreError, StoredRun};

/// Maximum number of runs claimed at a time.
const MAX_CLAIMED: usize = 100;

/// A claimed run, in hand until it is in memory.
type ClaimedRun = (StoredRun, RunInHand);

impl RunLifecycle {
    /// Looks after the runs of the shared store once: takes them away from dead nodes, claims those that are free, and compares what this node owns and
    /// holds. Returns the tasks that resume the claimed runs.
    pub(crate) async fn look(self: &Arc<Self>) -> Result<Vec<JoinHandle<Recovered>>, StoreError> {
        let runs = &self.stores.runs;
        let mut resuming = Vec::new();
        if !self.is_ending() {
            while !runs.reap(&self.node).await?.is_empty() {}
            let most = self.places.free().clamp(1, MAX_CLAIMED);
            let claimed = runs.claim(&self.node, most, STATE_VERSION).await?;
            resuming = self.resume_claimed(claimed);
        }
        self.compare().await?;
        Ok(resuming)
    }

    /// Resumes claimed runs, those of each conversation in order.
    fn resume_claimed(self: &Arc<Self>, claimed: Vec<StoredRun>) -> Vec<JoinHandle<Recovered>> {
        let mut conversations: HashMap<ConversationKey, Vec<ClaimedRun>> = HashMap::new();
        for record in claimed {
            if record.takeovers > 0 {
                self.membership.counts.takeovers.fetch_add(1, Ordering::Relaxed);
            }
            let held = self.runs.active().find(&record.key.scope, &record.key.name);
            if held.is_some_and(|held| !held.has_ended()) {
                // The work under the earlier claim ends first; then the run is released and claimed again.
                continue;
            }
            let in_hand = self.membership.take(record.key.clone());
            conversations.entry(record.conversation_key()).or_default().push((record, in_hand));
        }
        let resume = |claimed: Vec<ClaimedRun>| {
            let this = Arc::clone(self);
            self.tasks.spawn(async move {
                let (records, in_hand): (Vec<_>, Vec<_>) = claimed.into_iter().unzip();
                let mut recovered = Recovered::default();
                this.recover_conversation(records, &mut recovered).await;
                drop(in_hand);
                recovered
            })
        };
        conversations.into_values().map(resume).collect()
    }
}
