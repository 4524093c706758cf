//! A run of the service, from its first event to the end of its log.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    client_call_ids::ClientCallIds,
    command_progress::{CommandProgress, OtherNode},
    event_batches::{EventBatch, EventBatches, LeaveSignals, ObservedRun},
    recovery::RecoveryProgress,
    run_view::{RunView, status_name},
    shared_events::SharedEvents,
    shared_frames::SharedFrames,
    slots::RunSlot,
};
use crate::{
    Problem,
    encode::{RunEnd, RunStatus},
    journal::{
        LogProgress,
        run_fence::{RunFence, is_setback},
    },
};
use forgeline_agent::{
    RunStream,
    private::RunHandles,
    steering::{Approvals, ClientCalls, Questions, Steering},
};
use forgeline_store::{LogKey, LogRecord, RunProgress, RunWriter, StoreError, StoredRun, Stores};
use forgeline_types::{
    AgentError, AgentEvent, ClientToolRequest, Ending, Envelope, ErrorCode, Text, TokenUsageEvent,
    ToolCallEvent, ToolResultEvent, UsageInfo,
};

/// The kind of the last record of a run.
pub(crate) const RUN_END: &str = "run_end";

/// A run of the service.
#[derive(Debug)]
pub(crate) struct ServiceRun {
    pub(crate) key: LogKey,
    pub(super) fence: Arc<RunFence>,
    pub(crate) conversation: Text,
    /// The caller that owns it.
    pub(crate) owner: Text,
    pub(crate) approvals: Approvals,
    pub(crate) client_calls: ClientCalls,
    own_calls: ClientCallIds,
    pub(crate) questions: Questions,
    pub(crate) steering: Steering,
    pub(crate) cancel: CancellationToken,
    /// The newest frames, shared by its readers.
    pub(crate) frames: Arc<SharedFrames>,
    /// The newest events, for readers that need them.
    pub(crate) events: SharedEvents,
    progress: Mutex<RunPhase>,
    /// The token usage of its requests so far.
    used: Mutex<Option<UsageInfo>>,
    pub(super) recovery: RecoveryProgress,
    /// The progress known to the store; locked while it changes.
    pub(super) kept: tokio::sync::Mutex<RunProgress>,
    /// The number of the event before which the last response was paused.
    paused: AtomicU64,
    /// Cancelled once the run has ended, if its log may lack the end.
    pub(super) end_not_logged: CancellationToken,
    /// `true` while its end is written: its log may have it, and the run not yet.
    pub(super) is_ending: watch::Sender<bool>,
    /// The calls that this process executes.
    executing: Mutex<HashSet<(u32, Text)>>,
    /// The members of its request besides the input.
    about: Option<Box<RawValue>>,
    /// The commands that this node has executed.
    pub(crate) commands: CommandProgress,
    /// The node that works on it, if that is not this one.
    other: Option<OtherNode>,
}

/// The end of a run that has not been reported yet.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct RunEnding {
    pub(super) end: RunEnd,
    /// The error because of which its events could not be stored.
    pub(super) failed: Option<StoreError>,
    /// `true` if the run ended because its journal failed.
    pub(crate) lost_journal: bool,
    /// `true` if the conversation may lack some of the user's messages: the run ended before its first step, or before it took a message.
    pub(crate) lacks_user_messages: bool,
}

/// The reason for which a run waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WaitsFor {
    /// The result of a call at the client.
    Client,
    /// An approval, or the result of a call at the client.
    Calls,
    /// The answer to a question of a tool, or one of the others.
    Anything,
}

#[derive(Debug, Clone)]
pub(super) enum RunPhase {
    Queued,
    Running,
    /// The run waits in another process.
    Waiting,
    Ended(Box<RunEnd>),
}

impl ServiceRun {
    pub(crate) fn new(
        writer: RunWriter,
        conversation: Text,
        owner: Text,
        ways: RunHandles,
    ) -> Self {
        let RunHandles { approvals, client_calls, questions, steering, cancel } = ways;
        let key = writer.run.clone();
        Self {
            key,
            fence: Arc::new(RunFence::new(writer, cancel.clone())),
            conversation,
            owner,
            approvals,
            client_calls,
            own_calls: ClientCallIds::default(),
            questions,
            steering,
            cancel,
            frames: Arc::default(),
            events: SharedEvents::default(),
            progress: Mutex::new(RunPhase::Queued),
            used: Mutex::default(),
            recovery: RecoveryProgress::default(),
            kept: tokio::sync::Mutex::new(RunProgress::Queued),
            paused: AtomicU64::new(0),
            end_not_logged: CancellationToken::new(),
            is_ending: watch::Sender::new(false),
            executing: Mutex::default(),
            about: None,
            commands: CommandProgress::default(),
            other: None,
        }
    }

    /// Adds the members of its request besides the input.
    pub(crate) fn about(mut self, about: Option<String>) -> Self {
        self.about = about.and_then(|about| RawValue::from_string(about).ok());
        self
    }

    /// Sets the way to the node that works on it, if that is another one, or becomes another one.
    pub(crate) fn at(mut self, node: Option<OtherNode>) -> Self {
        self.other = node;
        self
    }

    /// Returns the way to the node that works on it, if that is not this one, or not any more.
    pub(crate) fn elsewhere(&self) -> Option<&OtherNode> {
        self.other
            .as_ref()
            .filter(|node| !node.is_after_loss || (self.fence.is_lost() && !self.has_ended()))
    }

    /// Returns `true` for a run that another node may take.
    pub(crate) fn may_move(&self) -> bool {
        self.other.is_some()
    }

    /// Returns `true` for a run that had an earlier claim: another node may have begun it.
    pub(crate) fn has_moved(&self) -> bool {
        self.fence.writer().epoch > 1
    }

    /// Returns `true` once its user has left it for another.
    pub(crate) fn is_left(&self) -> bool {
        self.steering.is_left() || self.other.as_ref().is_some_and(|node| node.is_left)
    }

    /// Returns a run that another process left in this turn while it waited for these requests; its readers have read up to event number `paused`.
    pub(crate) fn left(
        record: &StoredRun,
        ways: RunHandles,
        turn: Option<u32>,
        paused: u64,
        awaited: Vec<Text>,
    ) -> Self {
        let (id, owner) = (record.conversation.clone(), record.owner.clone());
        let mut run = Self::new(record.writer(), id, owner, ways).about(record.about.clone());
        run.recovery.begin(awaited);
        run.kept = tokio::sync::Mutex::new(record.progress);
        if let Some(turn) = turn {
            run.own_calls.resumed_in(turn);
        }
        run.pause(paused);
        run
    }

    /// Sets the token usage of the requests that the run made in another process.
    pub(crate) fn used(mut self, used: Option<UsageInfo>) -> Self {
        self.used = Mutex::new(used);
        self
    }

    /// Waits for a limited time until every request that the run waited for in another process is open again.
    pub(crate) async fn recovered(&self) -> Result<(), Problem> {
        self.recovery.recovered().await
    }

    /// Waits until this request is open again, or will not be.
    pub(crate) async fn recovered_for(&self, id: &str) -> Result<(), Problem> {
        if self.steering.is_open(id) { Ok(()) } else { self.recovered().await }
    }

    /// Returns `true` once the run has caught up with its state in another process.
    pub(crate) fn has_recovered(&self) -> bool {
        self.recovery.has_recovered()
    }

    /// Returns the right to write the run.
    pub(crate) fn fence(&self) -> &RunFence {
        &self.fence
    }

    pub(crate) fn id(&self) -> &str {
        &self.key.name
    }

    /// Returns the end of the run, once it has ended.
    pub(crate) fn end(&self) -> Option<RunEnd> {
        match self.progress() {
            RunPhase::Queued | RunPhase::Running | RunPhase::Waiting => None,
            RunPhase::Ended(end) => Some(*end),
        }
    }

    /// Returns the token that is cancelled once the run has ended, if its log may lack the end.
    pub(crate) fn end_not_logged(&self) -> CancellationToken {
        self.end_not_logged.clone()
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.progress(), RunPhase::Ended(_))
    }

    /// Returns `true` while the run waits for an open request that others have to answer.
    pub(crate) fn waits_for(&self, what: WaitsFor) -> bool {
        if what == WaitsFor::Client {
            return !self.client_calls.open().is_empty();
        }
        let (has_calls, has_questions) = self.steering.has_open();
        has_calls || (what == WaitsFor::Anything && has_questions)
    }

    /// Returns the open calls at the client, including those of sub-agents, each with the id that readers know.
    pub(crate) fn own_calls(&self) -> Vec<(String, ClientToolRequest)> {
        self.own_calls.keyed(self.client_calls.open())
    }

    /// Returns the number of the event before which the last response was paused; 0 if there was none.
    pub(crate) fn paused(&self) -> u64 {
        self.paused.load(Ordering::Acquire)
    }

    pub(crate) fn pause(&self, next: u64) {
        self.paused.store(next, Ordering::Release);
    }

    pub(crate) fn shown(&self) -> RunView<'_> {
        let waits = self.waits_for(WaitsFor::Anything);
        let (status, end) = match self.progress() {
            RunPhase::Queued => ("queued", None),
            RunPhase::Running if waits => ("waiting", None),
            RunPhase::Waiting => ("waiting", None),
            RunPhase::Running => ("running", None),
            RunPhase::Ended(end) => (status_name(end.status), Some(*end)),
        };
        let (run_id, conversation_id, request) =
            (self.id(), &*self.conversation, self.about.as_deref());
        let used = || *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = end.as_ref().map_or_else(used, |end| end.usage);
        let cost = end.as_ref().and_then(|end| end.spent?.cost);
        RunView { run_id, conversation_id, status, request, usage, cost, end }
    }

    fn executing(&self) -> MutexGuard<'_, HashSet<(u32, Text)>> {
        self.executing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> RunPhase {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, progress: RunPhase) {
        if let RunPhase::Ended(_) = &progress {
            self.frames.end();
        }
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    /// Returns a run that is not active in this process and that this process has claimed, from its record.
    pub(crate) fn claimed(record: &StoredRun) -> Self {
        Self::stored(record, record.writer())
    }

    /// Returns a run that is not active in this process, from its record, with this right to write it.
    pub(crate) fn stored(record: &StoredRun, writer: RunWriter) -> Self {
        let (conversation, owner) = (record.conversation.clone(), record.owner.clone());
        let mut run = Self::new(writer, conversation, owner, RunHandles::none());
        run.kept = tokio::sync::Mutex::new(record.progress);
        let run = run.about(record.about.clone());
        let logged = record.logged_end.as_deref().filter(|_| !record.progress.has_ended());
        if let Some(end) = logged.and_then(|end| serde_json::from_str(end).ok()) {
            run.set(RunPhase::Ended(Box::new(end)));
            run.end_not_logged.cancel();
            return run;
        }
        let status = match record.progress {
            RunProgress::Queued => return run,
            RunProgress::Running => {
                run.set(RunPhase::Running);
                return run;
            }
            RunProgress::Waiting => {
                run.set(RunPhase::Waiting);
                return run;
            }
            RunProgress::Completed => RunStatus::Completed,
            RunProgress::Failed => RunStatus::Failed,
            RunProgress::Cancelled => RunStatus::Cancelled,
            RunProgress::Interrupted => RunStatus::Interrupted,
            _ => RunStatus::Interrupted,
        };
        let end = record.end.as_deref().and_then(|end| serde_json::from_str(end).ok());
        let end = end.unwrap_or_else(|| RunEnd::new(run.key.name.clone(), 0, status));
        run.set(RunPhase::Ended(Box::new(end)));
        run.end_not_logged.cancel();
        run
    }

    /// Drives the run to its end once it has a slot, from event number `from` on. Returns the end, which the caller has to [report](Self::log_end), or
    /// `None` if the run was suspended for another process on a signal to `leave`, or if this process has lost the right to write it. Events are in the log
    /// before readers see them.
    pub(crate) async fn drive(
        &self,
        mut stream: RunStream,
        (stores, log_progress): (&Stores, &LogProgress),
        mut place: RunSlot,
        from: u64,
        leave: &LeaveSignals,
    ) -> Option<RunEnding> {
        let (log, is_shared) = (&stores.log, stores.runs.is_shared());
        let event_counter = log_progress.begin(&self.fence, from);
        // A run that is cancelled while it waits ends like one that is cancelled at its start.
        if self.cancel.run_until_cancelled(place.work()).await == Some(false) {
            // The service shuts down and no longer has a slot for the run.
            if stores.runs.outlives_process() {
                return self.put_away(stores, log_progress).await;
            }
            self.cancel.cancel();
        }
        self.set(RunPhase::Running);
        if !is_shared || *self.kept.lock().await != RunProgress::Running {
            self.keep_progress(stores, RunProgress::Running).await;
        }
        let (mut batches, mut events, mut failed) =
            (EventBatches::new(self, leave, from), from, None);
        let mut kept = from;
        loop {
            let records = match batches.next(&mut stream).await {
                EventBatch::Records(records) => records,
                EventBatch::End => break,
                EventBatch::Away => {
                    drop(batches);
                    self.begin_move();
                    // The work of the run ends here before it begins anywhere else.
                    drop(stream);
                    return self.put_away(stores, log_progress).await;
                }
            };
            let count = records.len() as u64;
            if failed.is_none() && !self.fence.is_lost() {
                match self.append(&**log, events, records).await {
                    Ok(()) => kept += count,
                    Err(error) => {
                        if is_shared && is_setback(&error) {
                            self.fence.lose(&error);
                        }
                        // Events that cannot be stored are not shown, and no more of them are paid for.
                        self.cancel.cancel();
                        failed = Some(error);
                    }
                }
            }
            events += count;
            event_counter.set(events);
            // A person may take a long time.
            let waits = self.waits_for(WaitsFor::Anything);
            if is_shared && !self.fence.is_lost() {
                self.show_waiting(stores, waits).await;
            }
            if waits {
                place.leave();
            } else if !place.is_working() {
                let work = self.cancel.run_until_cancelled(place.work());
                leave.all.run_until_cancelled(work).await;
            }
        }
        drop(batches);
        let outcome = stream.outcome().await.unwrap_or_else(|error| *error.outcome);
        log_progress.end(self.id());
        if self.fence.is_lost() {
            return None;
        }
        let mut end = RunEnd::of(&outcome, kept);
        let lost_journal = end.error.as_ref().is_some_and(|error| error.code == ErrorCode::Journal);
        if let Some(error) = &failed {
            end.status = RunStatus::Failed;
            end.ending = Some(Ending::Failed);
            end.error = Some(not_kept(error));
        }
        let lacks_user_messages =
            outcome.messages.is_empty() || !outcome.undelivered.is_empty() || lost_journal;
        Some(RunEnding { end, failed, lost_journal, lacks_user_messages })
    }
}

impl ObservedRun for ServiceRun {
    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    fn only_waits(&self) -> bool {
        self.waits_for(WaitsFor::Calls) && self.executing().is_empty()
    }

    fn is_back(&self) -> bool {
        self.recovery.is_back(|id| self.steering.is_open(id), || self.waits_for(WaitsFor::Anything))
    }

    fn finish_recovery(&self) {
        self.recovery.finish_recovery();
    }

    fn see(&self, envelope: &Envelope, is_first: bool) {
        if is_first {
            self.own_calls.resumed_in(envelope.turn);
        }
        self.recovery.see(envelope);
        if let AgentEvent::TokenUsage(TokenUsageEvent { usage, .. }) = &envelope.event {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.get_or_insert_default().add(usage);
        }
        let call = |id: &Text| (envelope.turn, id.clone());
        if let AgentEvent::ToolCall(ToolCallEvent { call_id, .. }) = &envelope.event {
            self.executing().insert(call(call_id));
        } else if let AgentEvent::ToolResult(ToolResultEvent { call_id, .. })
        | AgentEvent::ToolResultError(ToolResultEvent { call_id, .. }) = &envelope.event
        {
            self.executing().remove(&call(call_id));
        }
        self.own_calls.see(envelope, || self.client_calls.open());
    }

    fn share(&self, number: u64, data: &Bytes, envelope: Envelope) {
        self.events.note(number, data.clone(), envelope);
    }
}

/// Returns the last record of a run; serializing an end cannot fail.
pub(crate) fn end_record(end: &RunEnd) -> LogRecord {
    LogRecord::new(RUN_END, serde_json::to_vec(end).unwrap_or_default())
}

/// Returns the error of a run whose events could not be stored, without details that only the operator may see.
fn not_kept(error: &StoreError) -> AgentError {
    let why = if matches!(error, StoreError::Full { .. }) {
        ": the store is full; the operator has to make room"
    } else if matches!(error, StoreError::ReadOnly { .. }) {
        ": the store cannot be written"
    } else {
        ""
    };
    AgentError::new(ErrorCode::Journal, format!("the events of the run could not be stored{why}"))
}
