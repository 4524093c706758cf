//! The order of the runs of a conversation on several nodes.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::{
    Problem,
    conversations::{LiveConversation, run_order::RunTurn},
    journal::run_fence::is_outage,
    lifecycle::RunLifecycle,
    runs::{run::ServiceRun, slots::RunSlot},
};
use forgeline_store::{
    ConversationKey, RunChange, RunPlace, RunProgress, StoreError, private::now_ms,
};

/// The time between two looks at the runs before one, while it has waited for less than `SOON`.
const LOOK_SOON: Duration = Duration::from_millis(250);

const SOON: Duration = Duration::from_secs(10);

/// The time between two looks of a run that has waited for longer, or waits for one of this node, whose end wakes it.
const LOOK_LATER: Duration = Duration::from_secs(2);

/// The state of a run that waited for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnOutcome {
    /// The run works now, or ends if it was cancelled.
    Comes,
    /// The run has to leave this process.
    Leaves,
}

impl RunLifecycle {
    /// Waits until no earlier run of the conversation is open, on whichever node. Then the conversation in memory is that of the store.
    ///
    /// In a process with a store of its own, the order is that of memory. On a shared store, a run is open as long as the store says so: it works once no
    /// other run that is open has begun and none of those before it is open. Of two that find this at the same time, the later one steps back.
    pub(crate) async fn comes(
        &self,
        run: &ServiceRun,
        conversation: &LiveConversation,
        (turn, place): (&RunTurn, &mut RunSlot),
    ) -> TurnOutcome {
        if !self.stores.runs.is_shared() {
            let comes = run.cancel.run_until_cancelled(turn.comes());
            self.leave.all.run_until_cancelled(comes).await;
            return TurnOutcome::Comes;
        }
        let comes = self.comes_in_store(run, conversation, turn, place);
        let comes = run.cancel.run_until_cancelled(comes);
        match self.leave.waiting.run_until_cancelled(comes).await {
            None => TurnOutcome::Leaves,
            Some(Some(Err(error))) => {
                run.fence().lose(&error);
                TurnOutcome::Leaves
            }
            Some(Some(Ok(())) | None) if run.fence().is_lost() => TurnOutcome::Leaves,
            Some(Some(Ok(())) | None) => TurnOutcome::Comes,
        }
    }

    /// Waits for a limited time until no other run of the conversation that has begun, or is before this one, is open on any node.
    pub(crate) async fn comes_to_rewind(&self, run: &ServiceRun) -> Result<(), Problem> {
        let free = async {
            loop {
                if self.others_before(run, false).await? {
                    sleep(LOOK_SOON).await;
                    continue;
                }
                self.announce(run, RunProgress::Running).await?;
                if !self.others_before(run, true).await? {
                    return Ok(());
                }
            }
        };
        timeout(SOON, free).await.unwrap_or_else(|_| {
            let detail = "an earlier run of the chat has not ended; cancel it, or try again later";
            Err(Problem::busy(detail, 5))
        })
    }

    async fn comes_in_store(
        &self,
        run: &ServiceRun,
        conversation: &LiveConversation,
        turn: &RunTurn,
        place: &mut RunSlot,
    ) -> Result<(), StoreError> {
        let (since, mut order) = (Instant::now(), turn.watch());
        loop {
            if self.others_before(run, false).await? {
                place.leave();
                let is_soon = turn.is_first() && since.elapsed() < SOON;
                let every = if is_soon { LOOK_SOON } else { LOOK_LATER };
                drop(timeout(every, order.changed()).await);
                continue;
            }
            if !place.work().await {
                // The service shuts down; the run is put away where it looks for a slot.
                return Ok(());
            }
            self.announce(run, RunProgress::Running).await?;
            if !self.others_before(run, true).await? {
                break;
            }
        }
        conversation.refresh().await.map_err(|problem| {
            StoreError::unavailable(format!("the conversation was not read again: {problem}"))
        })
    }

    /// Returns `true` if another run of the conversation has begun, or is before this one. A run that `is_announced` steps back for one before it.
    async fn others_before(
        &self,
        run: &ServiceRun,
        is_announced: bool,
    ) -> Result<bool, StoreError> {
        let conversation = ConversationKey::new(run.key.scope.clone(), run.conversation.clone());
        let open = self.stores.runs.open_in(&conversation).await?;
        let Some(own) = open.iter().find(|it| it.key == run.key).map(RunPlace::place) else {
            // It was deleted, or has ended.
            return Err(StoreError::ended("run", run.key.name.clone()));
        };
        let mut others = open.iter().filter(|it| it.key != run.key);
        if !is_announced {
            return Ok(others.any(|it| it.progress != RunProgress::Queued || it.place() < own));
        }
        let begun: Vec<_> = others.filter(|it| it.progress != RunProgress::Queued).collect();
        if begun.iter().any(|it| it.place() < own) {
            self.announce(run, RunProgress::Queued).await?;
        }
        Ok(!begun.is_empty())
    }

    /// Stores whether the run has begun.
    async fn announce(&self, run: &ServiceRun, progress: RunProgress) -> Result<(), StoreError> {
        let mut kept = run.kept_progress().await;
        let change = RunChange::to(progress, now_ms());
        let changed = self.stores.runs.change(run.fence().writer(), change).await;
        if let Err(error) = run.fence().noted(changed)
            && is_outage(&error)
        {
            return Err(error);
        }
        *kept = progress;
        Ok(())
    }
}
