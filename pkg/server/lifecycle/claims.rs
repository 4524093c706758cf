//! The runs that a node takes over.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{task::JoinHandle, time::sleep};

use super::membership::RunInHand;
use crate::{
    lifecycle::{RunLifecycle, STATE_VERSION, recover::Recovered},
    runs::run::ServiceRun,
};
use forgeline_store::{ConversationKey, NodeNews, StoreError, StoredRun};

/// Maximum number of runs claimed at a time.
const MAX_CLAIMED: usize = 100;

/// The time between two looks at a run that is being dropped.
const LOOK: Duration = Duration::from_millis(50);

/// A claimed run, in hand until it is in memory.
type ClaimedRun = (StoredRun, RunInHand);

impl RunLifecycle {
    /// Looks after the runs of the shared store once, as far as its last beat has found any: takes them away from dead nodes,
    /// claims those that are free, and compares what this node owns and holds. Returns the tasks that resume the claimed runs.
    pub(crate) async fn look(
        self: &Arc<Self>,
        news: NodeNews,
    ) -> Result<Vec<JoinHandle<Recovered>>, StoreError> {
        let runs = &self.stores.runs;
        let mut resuming = Vec::new();
        if news.has_more && !self.is_ending() {
            while !runs.reap(&self.node).await?.is_empty() {}
            let most = self.places.free().clamp(1, MAX_CLAIMED);
            let claimed = runs.claim(&self.node, most, STATE_VERSION).await?;
            resuming = self.resume_claimed(claimed);
        }
        self.compare(news.owned).await?;
        Ok(resuming)
    }

    /// Returns a run as this node holds it under an earlier claim.
    fn held_before(&self, record: &StoredRun) -> Option<Arc<ServiceRun>> {
        let held = self.runs.active().find(&record.key.scope, &record.key.name)?;
        (!held.has_ended() && held.fence().writer().epoch != record.epoch).then_some(held)
    }

    /// Resumes claimed runs, those of each conversation in order.
    fn resume_claimed(self: &Arc<Self>, claimed: Vec<StoredRun>) -> Vec<JoinHandle<Recovered>> {
        let mut conversations: HashMap<ConversationKey, Vec<ClaimedRun>> = HashMap::new();
        for record in claimed {
            if record.takeovers > 0 {
                self.membership.counts.takeovers.fetch_add(1, Ordering::Relaxed);
            }
            if let Some(held) = self.held_before(&record) {
                let writer = held.fence().writer();
                held.fence().lose(&StoreError::fenced(writer.run.name.clone(), writer.epoch));
            }
            let in_hand = self.membership.take(record.key.clone());
            conversations.entry(record.conversation_key()).or_default().push((record, in_hand));
        }
        let resume = |claimed: Vec<ClaimedRun>| {
            let this = Arc::clone(self);
            self.tasks.spawn(async move {
                let (records, in_hand): (Vec<_>, Vec<_>) = claimed.into_iter().unzip();
                let mut recovered = Recovered::default();
                for record in &records {
                    // The work under an earlier claim of this node ends first.
                    while this.held_before(record).is_some() {
                        sleep(LOOK).await;
                    }
                }
                this.recover_conversation(records, &mut recovered).await;
                drop(in_hand);
                recovered
            })
        };
        conversations.into_values().map(resume).collect()
    }
}
