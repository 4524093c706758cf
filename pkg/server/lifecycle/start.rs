//! The start of a run, and its work until it ends.

use std::sync::{Arc, atomic::Ordering};

use futures_util::future::try_join_all;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::{RunLifecycle, STATE_VERSION, run_turn::TurnOutcome};
use crate::{
    Problem,
    access::{
        scope::scope,
        usage::{HeldResource, ResourceHold},
    },
    commands::send::{end_elsewhere, other_request},
    conversations::{
        ConversationForRun, LiveConversation, regenerate::RegenerateRequest, run_order::RunTurn,
    },
    encode::RunStatus,
    http::ids::check_id,
    input::{client_tools::ClientTools, stored_input::to_stored},
    readers::scope_events,
    runs::{run::ServiceRun, slots::RunSlot},
};
use forgeline_agent::{Caller, RunInput, RunStream, private::RunHandles};
use forgeline_store::{
    LogKey, RunBegun, RunChange, RunProgress, RunRequest, RunWriter, StoreError, StoredRun,
    private::now_ms,
};
use forgeline_types::{Message, Text};

/// Maximum size of a request's module, page, model and metadata together, in bytes.
pub(crate) const MAX_ABOUT_BYTES: usize = 16 << 10;

/// Maximum number of runs of one message that are distinguished from its repetition.
const MAX_ATTEMPTS: u32 = 16;

/// A request for a run.
pub(crate) struct StartRun {
    pub(crate) input: RunInput,
    pub(crate) agent: Option<Text>,
    pub(crate) conversation: Option<Text>,
    /// The tools sent with the request.
    pub(crate) tools: Option<Arc<ClientTools>>,
    /// The idempotency key, and a digest of the rest of the request.
    pub(crate) request: Option<(Text, u64)>,
    /// The messages with which a new conversation begins.
    pub(crate) history: Vec<Message>,
    /// The chat whose last answer is regenerated.
    pub(crate) again: Option<RegenerateRequest>,
}

impl RunLifecycle {
    /// Starts a run. The run continues without readers, and starts completely even if this future is dropped.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        caller: Caller,
        asked: StartRun,
    ) -> Result<Arc<ServiceRun>, Problem> {
        let this = Arc::clone(self);
        let whole = async move { this.begin_whole(caller, asked).await };
        let begun = tokio::spawn(whole.in_current_span());
        begun.await.unwrap_or_else(|_| Err(Problem::busy("the run could not start", 5)))
    }

    async fn begin_whole(
        self: &Arc<Self>,
        caller: Caller,
        asked: StartRun,
    ) -> Result<Arc<ServiceRun>, Problem> {
        self.retention.start_sweeping();
        self.start_node();
        let StartRun { input, agent, conversation, tools, request, history, again } = asked;
        let scope = scope(&caller);
        if let Some((key, digest)) = &request {
            check_id("`Idempotency-Key`", key)?;
            let earlier = self.stores.runs.of_request(&scope, &caller.id, key).await?;
            if let Some(earlier) = earlier {
                return self.same(&earlier, *digest).await;
            }
        }
        if self.tasks.is_closed() {
            return Err(Problem::busy("the service is shutting down", 30));
        }
        self.usage.limits().check_input(&input.text())?;
        let about = input.about();
        if about.as_ref().is_some_and(|about| about.len() > MAX_ABOUT_BYTES) {
            let detail = format!(
                "module, page, model and metadata have more than {MAX_ABOUT_BYTES} bytes together; send less"
            );
            return Err(Problem::bad(detail));
        }
        self.usage.begin_run(&caller)?;
        let held = self.usage.hold(&scope, HeldResource::Run)?;
        let Some(place) = self.places.queue() else {
            let detail = "the service is busy and could not start this run; try again later";
            return Err(Problem::busy(detail, 5));
        };
        let named = (agent, conversation, tools.as_deref());
        // What was read where it was said is not known.
        let input = if history.is_empty() { input } else { input.outside_text() };
        let found = self.conversations.for_run(&caller, named, (&input, history)).await?;
        let ConversationForRun { live: conversation, handle, is_nameless } = found;
        // A run that works has not said everything yet.
        if let Some(again) = &again
            && !self.runs.has_open(&scope, &conversation.id).await?
        {
            conversation.check_place(again)?;
        }
        let input = input.caller(caller.clone()).conversation(conversation.id.clone());
        let kept = to_stored(&input, tools.as_deref());
        let kept = kept.map_err(|error| Problem::bad(error.to_string()))?;
        let input = match tools {
            Some(tools) => input.state(tools),
            None => input,
        };
        let stream = handle.run_stream(input);
        let key = LogKey::new(scope, stream.run_id());
        let (id, owner) = (conversation.id.clone(), caller.id.clone());
        let mut record =
            StoredRun::new(key.clone(), id, owner, conversation.agent_name.clone(), now_ms())
                .input(kept)
                .version(STATE_VERSION);
        record.request = request.map(|(key, digest)| RunRequest::new(key, digest));
        record.about.clone_from(&about);
        let digest = record.request.as_ref().map_or(0, |request| request.digest);
        let is_shared = self.stores.runs.is_shared();
        // It is in the store before it is in memory.
        let in_hand = is_shared.then(|| self.membership.take(key.clone()));
        match self.add_run(record, is_nameless).await? {
            RunBegun::New => {}
            RunBegun::TooMany => return Err(HeldResource::Run.refusal()),
            // Another request with the same key was faster.
            RunBegun::Same(earlier) => return self.same(&earlier, digest).await,
            RunBegun::Other => return Err(other_request()),
            _ => return Err(other_request()),
        }
        let ways = RunHandles::of_stream(&stream);
        // A run that begins is owned by its first claim.
        let writer = RunWriter::new(key.clone(), 1);
        let run = ServiceRun::new(writer, conversation.id.clone(), caller.id, ways);
        let run = Arc::new(run.about(about).at(self.runs.next_node()));
        let log = &self.stores.log;
        let ready = async {
            if let Some(again) = &again {
                self.take_back(&run, &conversation, again).await?;
            }
            self.create_log(&key).await?;
            // A reader of the scope that starts now finds the run in memory until it is noted in the log, and in the log from then on.
            self.runs.active().add(&run);
            Ok(scope_events::note(&**log, &run).await?)
        };
        if let Err(problem) = ready.await {
            self.runs.active().remove(&run.key);
            drop(log.remove(&run.key).await);
            // The run was not acknowledged: the same request may start it again.
            if self.stores.runs.delete(&run.key).await.is_err() {
                run.keep(&self.stores, RunChange::to(RunProgress::Failed, now_ms())).await;
            }
            return Err(problem);
        }
        drop(in_hand);
        let turn = conversation.begin(&run);
        self.metrics.begin_run();
        tracing::info!(run_id = run.id(), conversation = %run.conversation, "a run begins");
        self.drive((Arc::clone(&run), conversation), stream, turn, (place, held));
        Ok(run)
    }

    /// Adds a run to the store. On a shared one, the runs of the scope at other nodes count, too: where there are too many, a conversation that was
    /// created for the run is deleted.
    async fn add_run(&self, record: StoredRun, is_nameless: bool) -> Result<RunBegun, StoreError> {
        let (runs, node) = (&self.stores.runs, Some(&self.node));
        if !runs.is_shared() {
            return runs.begin(record, node).await;
        }
        let conversation = record.conversation_key();
        let begun = runs.begin_within(record, node, self.usage.limits().scope_runs).await?;
        if begun == RunBegun::TooMany && is_nameless {
            self.conversations.forget_unused(&conversation.scope, &conversation.id).await;
        }
        Ok(begun)
    }

    fn drive(
        self: &Arc<Self>,
        (run, conversation): (Arc<ServiceRun>, Arc<LiveConversation>),
        stream: RunStream,
        turn: RunTurn,
        (mut place, held): (RunSlot, ResourceHold),
    ) {
        let this = Arc::clone(self);
        if !turn.is_first() {
            // A run that waits for an earlier one, which may be waiting for a person, does not occupy a slot that another run could use.
            place.leave();
        }
        self.tasks.spawn(async move {
            let commands = this.execute_commands(&run);
            this.drive_in_turn(&run, stream, (&conversation, &turn), place).await;
            drop((turn, held, commands));
        });
    }

    /// Drives a run that has not begun, once its turn comes.
    pub(super) async fn drive_in_turn(
        self: &Arc<Self>,
        run: &Arc<ServiceRun>,
        stream: RunStream,
        (conversation, turn): (&LiveConversation, &RunTurn),
        mut place: RunSlot,
    ) {
        match self.comes(run, conversation, (turn, &mut place)).await {
            TurnOutcome::Comes => self.drive_here(run, stream, place, 0).await,
            TurnOutcome::Leaves => {
                run.begin_move();
                drop(stream);
                if !run.fence().is_lost() {
                    run.put_away(&self.stores, self.conversations.log_progress()).await;
                }
                self.leave_if_lost(run).await;
            }
        }
    }

    pub(super) async fn drive_here(
        self: &Arc<Self>,
        run: &Arc<ServiceRun>,
        stream: RunStream,
        place: RunSlot,
        from: u64,
    ) {
        let begun = Instant::now();
        self.records.begin(run.id());
        let stores = (&self.stores, self.conversations.log_progress());
        let ending = run.drive(stream, stores, place, from, &self.leave).await;
        if ending.as_ref().is_some_and(|ending| !(ending.lost_journal && self.may_resume(run))) {
            self.finish_commands(run).await;
        }
        // Nothing is kept of a run that was erased.
        let is_known = self.runs.active().find(&run.key.scope, run.id()).is_some();
        let keeps = is_known && !run.fence().is_lost();
        self.records.keep(run, keeps.then_some(&self.stores)).await;
        let Some(ending) = ending else { return self.leave_if_lost(run).await };
        if ending.lost_journal && self.may_resume(run) {
            run.fence().lose(&"its journal could not be written");
            return self.leave_if_lost(run).await;
        }
        if (ending.lacks_user_messages || run.has_moved()) && is_known {
            self.keep_user_messages_of(run).await;
        }
        let Some(end) = run.log_end(&self.stores, ending).await else {
            return self.leave_if_lost(run).await;
        };
        self.conversations.cache().grown(&run.key.scope, &run.conversation);
        let (status, took) = (run.shown().status(), begun.elapsed());
        self.metrics.end_run(status, end.seq.saturating_sub(from), took);
        tracing::info!(run_id = run.id(), status, events = end.seq, ?took, "a run has ended");
    }

    /// Returns `true` for a run of a shared store whose journal failed in a way that passes: it is resumed from there.
    fn may_resume(&self, run: &ServiceRun) -> bool {
        let known = self.conversations.cache().find(&run.key.scope, &run.conversation);
        self.stores.runs.is_shared() && known.is_some_and(|known| known.journal.may_recover())
    }

    /// Forgets a run that another process has taken or may take; its conversation is read again when it is needed.
    async fn leave_if_lost(&self, run: &ServiceRun) {
        if run.fence().is_lost() {
            if !run.fence().is_released() {
                if self.stores.runs.is_shared() && run.fence().lacks_room() {
                    run.wait_for_room(&self.stores).await;
                }
                self.membership.counts.lost.fetch_add(1, Ordering::Relaxed);
            }
            run.leave_to_another();
            self.runs.active().remove_own(run);
            // Another run of the conversation that works here knows what its journal has.
            let works = |other: &Arc<ServiceRun>| !other.fence().is_lost();
            if !self.runs.active().open(&run.key.scope, &run.conversation).iter().any(works) {
                self.conversations.cache().remove(&run.key.scope, &run.conversation);
            }
        }
    }

    /// Cancels the runs of a conversation before one that begins, and rewinds it.
    async fn take_back(
        &self,
        run: &ServiceRun,
        conversation: &LiveConversation,
        again: &RegenerateRequest,
    ) -> Result<(), Problem> {
        for earlier in self.runs.active().open(&run.key.scope, &conversation.id) {
            earlier.cancel.cancel();
        }
        if self.stores.runs.is_shared() {
            let mut open = self.runs.open(&run.key.scope, &conversation.id).await?;
            open.retain(|earlier| earlier.key != run.key);
            try_join_all(open.iter().map(|earlier| end_elsewhere(earlier))).await?;
            self.comes_to_rewind(run).await?;
            conversation.refresh().await?;
        }
        conversation.take_back(again).await
    }

    /// Returns a name for a request that clients repeat with this key, and the run that it started before. A run that failed or was cancelled does not
    /// count: who sends the message again wants another one. `None` once that was done too often.
    pub(crate) async fn request_named(
        &self,
        caller: &Caller,
        key: &str,
    ) -> Result<Option<(Text, Option<Arc<ServiceRun>>)>, Problem> {
        let scope = scope(caller);
        for attempt in 0..MAX_ATTEMPTS {
            let name = Text::from(format!("{key} {attempt}"));
            let record = self.stores.runs.of_request(&scope, &caller.id, &name).await?;
            let Some(record) = record else { return Ok(Some((name, None))) };
            let run = self.runs.of_record(&record).await;
            if run.end().is_none_or(|end| end.status == RunStatus::Completed) {
                return Ok(Some((name, Some(run))));
            }
        }
        Ok(None)
    }

    /// Returns the run that an earlier request with the same key started, if both requests are equal.
    async fn same(&self, earlier: &StoredRun, digest: u64) -> Result<Arc<ServiceRun>, Problem> {
        if earlier.request.as_ref().is_none_or(|request| request.digest != digest) {
            return Err(other_request());
        }
        // The node that began it may have ended before it created the log.
        if earlier.ended_ms.is_none() {
            self.create_log(&earlier.key).await?;
        }
        Ok(self.runs.of_record(earlier).await)
    }
}
