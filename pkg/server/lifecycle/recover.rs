//! Recovery of the runs that another process left behind.

use std::{collections::HashMap, sync::Arc};

use super::{
    RunLifecycle, STATE_VERSION,
    resumption::{RecoveryOutcome, ResumedRun, ToolsByRun},
};
use crate::{
    conversations::{ConversationForRun, LiveConversation, run_order::RunTurn},
    input::{pending::PendingAnswer, stored_input::StoredInput},
    readers::scope_events,
    runs::run::ServiceRun,
};
use forgeline_agent::{RunStream, private::RunHandles};
use forgeline_store::{
    ConversationKey, RunChange, RunProgress, StoreError, StoredRun, private::now_ms,
};
use forgeline_types::AgentError;

/// Maximum number of runs that are recovered.
const MAX_RECOVERED: usize = 100_000;

/// The numbers of recovered runs, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// The number of runs that were resumed or started.
    pub resumed: usize,
    /// The number of runs that could not be resumed and have ended as interrupted.
    pub interrupted: usize,
    /// The number of runs that had ended without a note of it in the store.
    pub ended: usize,
}

impl RunLifecycle {
    /// Recovers the runs that an earlier process left behind; see [`Service::recover`](crate::Service::recover).
    pub(crate) async fn recover(self: &Arc<Self>) -> Result<Recovered, StoreError> {
        self.retention.start_sweeping();
        if self.stores.runs.is_shared() {
            return self.join_nodes().await;
        }
        let mut recovered = Recovered::default();
        let mut conversations: HashMap<ConversationKey, Vec<StoredRun>> = HashMap::new();
        let runs = &self.stores.runs;
        runs.beat(&self.node).await?;
        while !runs.reap(&self.node).await?.is_empty() {}
        for record in runs.claim(&self.node, MAX_RECOVERED, STATE_VERSION).await? {
            conversations.entry(record.conversation_key()).or_default().push(record);
        }
        for records in conversations.into_values() {
            self.recover_conversation(records, &mut recovered).await;
        }
        Ok(recovered)
    }

    /// Begins the life of this process as one of several nodes, and resumes the runs that are free.
    async fn join_nodes(self: &Arc<Self>) -> Result<Recovered, StoreError> {
        self.start_node();
        let news = self.stores.runs.beat(&self.node).await?;
        let mut recovered = Recovered::default();
        for resuming in self.look(news).await? {
            let Ok(of_conversation) = resuming.await else { continue };
            recovered.resumed += of_conversation.resumed;
            recovered.interrupted += of_conversation.interrupted;
            recovered.ended += of_conversation.ended;
        }
        Ok(recovered)
    }

    /// Resumes the runs of one conversation in order, before those that start now.
    pub(super) async fn recover_conversation(
        self: &Arc<Self>,
        records: Vec<StoredRun>,
        recovered: &mut Recovered,
    ) {
        let mut going_on = Vec::new();
        // Any of them may be the one with the open journal.
        let tools = records.iter().filter_map(|record| {
            Some((record.key.name.clone(), StoredInput::read(record).tools()?))
        });
        let tools: ToolsByRun = tools.collect();
        for record in records {
            let conversation = self.conversations.of_run_to_resume(&record).await;
            let (fate, conversation) = match conversation {
                Ok(conversation) => {
                    (self.fate(&record, &conversation, &tools).await, Some(conversation))
                }
                Err(error) => (self.fate_after(error), None),
            };
            match (fate, conversation) {
                (RecoveryOutcome::Resumed(resumed), Some(conversation)) => {
                    recovered.resumed += 1;
                    self.forget_passes(&record).await;
                    let has_begun = resumed.has_begun;
                    let (run, stream, from) = self.hold_resumed(&record, *resumed).await;
                    let turn = conversation.live.begin(&run);
                    going_on.push((run, (stream, has_begun), (conversation.live, turn), from));
                }
                (RecoveryOutcome::Ended(end), _) => {
                    recovered.ended += 1;
                    if let Some(settled) = self.settle_commands(&record).await {
                        // What was sent before its end was kept before.
                        if settled.notes != record.notes {
                            self.keep_user_messages(&settled).await;
                        }
                        ServiceRun::claimed(&record).finish_logged(&self.stores, *end).await;
                    }
                }
                (RecoveryOutcome::Interrupted(why), conversation) => {
                    recovered.interrupted += 1;
                    self.interrupt(&record, why).await;
                    if let Some(conversation) = conversation {
                        self.read_on(&conversation).await;
                    }
                }
                (RecoveryOutcome::Elsewhere(why), _) => {
                    if let Some(why) = self.pass_on(&record, why).await {
                        recovered.interrupted += 1;
                        self.interrupt(&record, why).await;
                    }
                }
                (RecoveryOutcome::Later(error), _) => {
                    tracing::warn!(%error, run_id = %record.key.name, "a run is resumed later");
                }
                (RecoveryOutcome::Resumed(_), None) => {}
            }
        }
        for (run, stream, conversation, from) in going_on {
            self.go_on(run, stream, conversation, from);
        }
    }

    /// Puts a resumed run in memory, with what was sent to it before.
    async fn hold_resumed(
        &self,
        record: &StoredRun,
        resumed: ResumedRun,
    ) -> (Arc<ServiceRun>, RunStream, u64) {
        let ResumedRun { stream, events: from, turn, mut awaited, words, answers, used, .. } =
            resumed;
        let stored = StoredInput::read(record);
        // A client that decides now has read the events in the log.
        let ways = RunHandles::of_stream(&stream);
        for word in words {
            if let Err(error) = word.say(&ways.steering) {
                tracing::error!(%error, run_id = %record.key.name, "an input is lost");
            }
        }
        if stored.is_cancelled() {
            ways.cancel.cancel();
        }
        let given = answers.into_iter().map(|PendingAnswer { id, given, .. }| (id, given));
        if stored.is_left() {
            awaited.clear();
            ways.steering.leave(given.collect());
        } else {
            for (id, given) in given {
                // The answer is given as soon as the request is open again.
                awaited.retain(|awaited| *awaited != id);
                ways.steering.give_when_open(id, given);
            }
        }
        let run = ServiceRun::left(record, ways, turn, from, awaited).used(used);
        let run = Arc::new(run.at(self.runs.next_node()));
        self.runs.active().add(&run);
        if from == 0
            && let Err(error) = scope_events::note_left(&self.stores.log, &run).await
        {
            tracing::error!(%error, run_id = run.id(), "a run cannot be recorded");
        }
        (run, stream, from)
    }

    /// Ends a run that cannot be resumed. The conversation keeps every acknowledged message, whatever happens to the run.
    async fn interrupt(&self, record: &StoredRun, why: AgentError) {
        tracing::warn!(error = %why, run_id = %record.key.name, "a run is interrupted");
        let Some(settled) = self.settle_commands(record).await else { return };
        self.keep_user_messages(&settled).await;
        let events = self.log_end(record).await.unwrap_or_default();
        let used = self.used_in_log(record, events).await;
        ServiceRun::claimed(record).interrupt(&self.stores, (events, used), why).await;
    }

    /// Reads a conversation whose run was interrupted, for the next one.
    async fn read_on(&self, conversation: &ConversationForRun) {
        let is_read = if self.stores.runs.is_shared() {
            conversation.live.refresh().await.map_err(|problem| problem.to_string())
        } else {
            conversation.handle.reread().await.map_err(|error| error.to_string())
        };
        if let Err(error) = is_read {
            tracing::warn!(%error, "a conversation cannot continue");
        }
    }

    /// Drives a run that another process left behind, from event number `from` on. On a shared store, a run that has begun holds its conversation.
    fn go_on(
        self: &Arc<Self>,
        run: Arc<ServiceRun>,
        (stream, has_begun): (RunStream, bool),
        (conversation, turn): (Arc<LiveConversation>, RunTurn),
        from: u64,
    ) {
        let this = Arc::clone(self);
        self.tasks.spawn(async move {
            let commands = this.execute_commands(&run);
            let is_shared = this.stores.runs.is_shared();
            if is_shared && !has_begun {
                let place = this.places.beside();
                this.drive_in_turn(&run, stream, (&conversation, &turn), place).await;
                return drop(commands);
            }
            if !is_shared {
                let comes = run.cancel.run_until_cancelled(turn.comes());
                this.leave.all.run_until_cancelled(comes).await;
            }
            let change = RunChange::to(RunProgress::Running, now_ms()).is_resumed(true);
            run.keep(&this.stores, change).await;
            this.drive_here(&run, stream, this.places.beside(), from).await;
            drop((turn, commands));
        });
    }
}
