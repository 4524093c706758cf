//! Recovery of the runs that another process left behind.

use std::{collections::HashMap, sync::Arc};

use super::{RunLifecycle, STATE_VERSION};
use crate::{
    conversations::{ConversationForRun, run_order::RunTurn},
    encode::RunEnd,
    input::{
        client_tools::ClientTools,
        pending::{MessageCounts, PendingAnswer, QueuedMessage},
        stored_input::StoredInput,
    },
    readers::scope_events,
    runs::run::{RUN_END, ServiceRun},
};
use forgeline_agent::{
    RunStream,
    private::{RunHandles, RunInJournal},
    run::RunContext,
};
use forgeline_store::{
    ConversationKey, RunChange, RunProgress, StoreError, StoredRun, private::now_ms,
};
use forgeline_types::{
    AgentError, AgentEvent, Envelope, ErrorCode, Text, TokenUsageEvent, ToolQuestionEndEvent,
    UsageInfo,
};

/// Maximum number of runs that are recovered.
const MAX_RECOVERED: usize = 100_000;

/// Maximum number of times that a run is resumed; then it is interrupted, as it may be what crashes the processes.
const MAX_RESUMED: u32 = 3;

/// Number of records read at a time.
const PAGE: usize = 256;

/// The kind of the events that report token usage.
const TOKEN_USAGE: &str = "token_usage";

/// The tools of requests, by run.
type ToolsByRun = HashMap<Text, Arc<ClientTools>>;

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

/// A resumed run.
struct ResumedRun {
    stream: RunStream,
    /// The number of its events so far.
    events: u64,
    /// The turn that the run was in, if any.
    turn: Option<u32>,
    /// The requests that the run waited for.
    awaited: Vec<Text>,
    /// The messages sent to the run that are not in its journal.
    words: Vec<QueuedMessage>,
    /// The answers to its requests that are not in its journal.
    answers: Vec<PendingAnswer>,
    /// The token usage of its requests so far.
    used: Option<UsageInfo>,
}

/// The outcome for one run.
enum RecoveryOutcome {
    Resumed(Box<ResumedRun>),
    Interrupted(AgentError),
    /// The log already contains the end of the run.
    Ended(Box<RunEnd>),
}

impl RunLifecycle {
    /// Recovers the runs that an earlier process left behind; see [`Service::recover`](crate::Service::recover).
    pub(crate) async fn recover(self: &Arc<Self>) -> Result<Recovered, StoreError> {
        self.retention.start_sweeping();
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

    /// Resumes the runs of one conversation in order, before those that start now.
    async fn recover_conversation(
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
            let events = self.log_end(&record).await;
            let conversation = self.conversations.of_run_to_resume(&record).await;
            let fate = match (&conversation, &events) {
                (Ok(conversation), Ok(events)) => {
                    self.fate(&record, conversation, *events, &tools).await
                }
                (Err(error), _) => RecoveryOutcome::Interrupted(error.clone()),
                (_, Err(error)) => RecoveryOutcome::Interrupted(failed(error)),
            };
            let events = events.unwrap_or_default();
            match (fate, conversation) {
                (RecoveryOutcome::Resumed(resumed), Ok(conversation)) => {
                    recovered.resumed += 1;
                    let ResumedRun {
                        stream,
                        events: from,
                        turn,
                        mut awaited,
                        words,
                        answers,
                        used,
                    } = *resumed;
                    let stored = StoredInput::read(&record);
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
                    let given =
                        answers.into_iter().map(|PendingAnswer { id, given, .. }| (id, given));
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
                    let run = ServiceRun::left(&record, ways, turn, from, awaited).used(used);
                    let run = Arc::new(run);
                    self.runs.active().add(&run);
                    if from == 0
                        && let Err(error) = scope_events::note_left(&self.stores.log, &run).await
                    {
                        tracing::error!(%error, run_id = run.id(), "a run cannot be recorded");
                    }
                    let turn = conversation.live.begin(&run);
                    going_on.push((run, stream, turn, from));
                }
                (RecoveryOutcome::Ended(end), _) => {
                    recovered.ended += 1;
                    ServiceRun::stored(&record).finish_logged(&self.stores, *end).await;
                }
                (RecoveryOutcome::Interrupted(why), conversation) => {
                    recovered.interrupted += 1;
                    tracing::warn!(error = %why, run_id = %record.key.name, "a run is interrupted");
                    // The conversation keeps every acknowledged message, whatever happens to the run.
                    self.keep_user_messages(&record).await;
                    let used = self.used_in_log(&record, events).await;
                    ServiceRun::stored(&record).interrupt(&self.stores, (events, used), why).await;
                    if let Ok(conversation) = conversation
                        && let Err(error) = conversation.handle.reread().await
                    {
                        tracing::warn!(%error, "a conversation cannot continue");
                    }
                }
                (RecoveryOutcome::Resumed(_), Err(_)) => {}
            }
        }
        for (run, stream, turn, from) in going_on {
            self.go_on(run, stream, turn, from);
        }
    }

    /// Drives a run that another process left behind, from event number `from` on.
    fn go_on(self: &Arc<Self>, run: Arc<ServiceRun>, stream: RunStream, turn: RunTurn, from: u64) {
        let this = Arc::clone(self);
        self.tasks.spawn(async move {
            let commands = this.execute_commands(&run);
            let comes = run.cancel.run_until_cancelled(turn.comes());
            this.away.run_until_cancelled(comes).await;
            let change = RunChange::to(RunProgress::Running, now_ms()).is_resumed(true);
            run.keep(&this.stores, change).await;
            this.drive_here(&run, stream, this.places.beside(), from).await;
            drop((turn, commands));
        });
    }

    /// Returns the number of records of a run's log, which is created if missing.
    async fn log_end(&self, record: &StoredRun) -> Result<u64, StoreError> {
        let log = &self.stores.log;
        match log.read(&record.key, u64::MAX, 1).await {
            Err(StoreError::NotFound { .. }) => log.create(record.key.clone()).await.map(|()| 0),
            Err(StoreError::Behind { end, .. }) => Ok(end),
            other => other.map(|page| page.next),
        }
    }

    async fn fate(
        &self,
        record: &StoredRun,
        conversation: &ConversationForRun,
        events: u64,
        tools: &ToolsByRun,
    ) -> RecoveryOutcome {
        match self.find_fate(record, conversation, events, tools).await {
            Ok(fate) => fate,
            Err(error) => RecoveryOutcome::Interrupted(error),
        }
    }

    async fn find_fate(
        &self,
        record: &StoredRun,
        conversation: &ConversationForRun,
        events: u64,
        tools: &ToolsByRun,
    ) -> Result<RecoveryOutcome, AgentError> {
        if let Some(end) = self.logged_end(record, events).await? {
            return Ok(RecoveryOutcome::Ended(Box::new(end)));
        }
        let share = |run: &str, context: &mut RunContext| {
            if let Some(tools) = tools.get(run) {
                context.share(Arc::clone(tools));
            }
        };
        let found = conversation.handle.reopen(&record.key.name, share).await?;
        self.fate_of(record, conversation, events, found).await
    }

    /// Returns the outcome for a run whose journal was found in this state.
    async fn fate_of(
        &self,
        record: &StoredRun,
        conversation: &ConversationForRun,
        events: u64,
        found: RunInJournal,
    ) -> Result<RecoveryOutcome, AgentError> {
        if record.resumed >= MAX_RESUMED {
            let why =
                format!("the run was resumed in {MAX_RESUMED} processes, and each of them died");
            return Err(interrupted(why));
        }
        let stored = StoredInput::read(record);
        match found {
            RunInJournal::Open(reopened) => {
                let first = reopened.events();
                if first > events {
                    return Err(interrupted(format!("its events from {events} on were lost")));
                }
                let logged = self.logged_events(record, first, events).await?;
                let last = self.logged_events(record, events.saturating_sub(1), events).await?;
                let turn = last.last().map(|last| last.turn);
                let journaled = conversation.live.journal.read_run(&record.key.name).await;
                let (journaled, _) = journaled.map_err(|error| interrupted(error.to_string()))?;
                let words = stored.messages_without(journaled.words);
                conversation.live.journal.goes_on_with(journaled);
                let logged: Vec<_> = logged.into_iter().map(|logged| logged.event).collect();
                let mut awaited = reopened.requests();
                awaited.extend(open_questions(&logged));
                let used = used(reopened.usage(), &logged);
                let stream = reopened.into_stream(logged);
                let answers = stored.answers();
                let resumed = ResumedRun { stream, events, turn, awaited, words, answers, used };
                Ok(RecoveryOutcome::Resumed(Box::new(resumed)))
            }
            RunInJournal::Over => {
                Err(interrupted("the conversation went on without it".to_owned()))
            }
            // No work was done for the run yet.
            RunInJournal::Unknown => {
                let Some(input) = stored.run_input() else {
                    return Err(interrupted("its input is missing".to_owned()));
                };
                if events > 0 {
                    return Err(interrupted("it had started, and its journal is lost".to_owned()));
                }
                let stream = conversation.handle.run_stream_as(input, record.key.name.clone());
                let (events, turn, awaited, used) = (0, None, Vec::new(), None);
                let words = stored.messages_without(MessageCounts::default());
                let answers = Vec::new();
                let resumed = ResumedRun { stream, events, turn, awaited, words, answers, used };
                Ok(RecoveryOutcome::Resumed(Box::new(resumed)))
            }
        }
    }

    /// Returns the end of a run, if it is the last record of its log.
    async fn logged_end(
        &self,
        record: &StoredRun,
        events: u64,
    ) -> Result<Option<RunEnd>, AgentError> {
        let Some(last) = events.checked_sub(1) else { return Ok(None) };
        let page = self.stores.log.read(&record.key, last, 1).await;
        let page = page.map_err(|error| failed(&error))?;
        let end = page.records.first().filter(|record| record.kind == RUN_END);
        Ok(end.and_then(|record| serde_json::from_slice(&record.data).ok()))
    }

    /// Returns the token usage reported by the events of a run, as far as they can be read.
    async fn used_in_log(&self, record: &StoredRun, to: u64) -> Option<UsageInfo> {
        let (mut logged, mut at) = (None, 0);
        while at < to {
            let page = self.stores.log.read(&record.key, at, PAGE).await.ok()?;
            let kinds = page.records.iter().filter(|record| record.kind == TOKEN_USAGE);
            for record in kinds {
                let envelope = serde_json::from_slice::<Envelope>(&record.data).ok()?;
                logged = used(logged, std::slice::from_ref(&envelope.event));
            }
            if page.next == at {
                break;
            }
            at = page.next;
        }
        logged
    }

    /// Reads the events of a run from number `from` up to `to`.
    async fn logged_events(
        &self,
        record: &StoredRun,
        from: u64,
        to: u64,
    ) -> Result<Vec<Envelope>, AgentError> {
        let (mut logged, mut at) = (Vec::new(), from);
        while at < to {
            let page = self.stores.log.read(&record.key, at, PAGE).await;
            let page = page.map_err(|error| failed(&error))?;
            for record in &page.records {
                let envelope = serde_json::from_slice::<Envelope>(&record.data);
                let envelope = envelope.map_err(|error| interrupted(error.to_string()))?;
                logged.push(envelope);
            }
            if page.next == at {
                break;
            }
            at = page.next;
        }
        Ok(logged)
    }
}

/// Returns the ids of the questions that were asked and not answered: a call that may run again asks them again.
fn open_questions(logged: &[AgentEvent]) -> Vec<Text> {
    let mut open = Vec::new();
    for event in logged {
        if let AgentEvent::ToolQuestion(question) = event {
            open.push(question.question_id.clone());
        } else if let AgentEvent::ToolQuestionEnd(ToolQuestionEndEvent { question_id, .. }) = event
        {
            open.retain(|id| id != question_id);
        }
    }
    open
}

/// Returns the token usage of a run: that in its journal, and that of later events.
fn used(journaled: Option<UsageInfo>, logged: &[AgentEvent]) -> Option<UsageInfo> {
    let mut used = journaled;
    for event in logged {
        if let AgentEvent::TokenUsage(TokenUsageEvent { usage, .. }) = event {
            used.get_or_insert_default().add(usage);
        }
    }
    used
}

fn interrupted(why: String) -> AgentError {
    AgentError::new(ErrorCode::Journal, why)
}

fn failed(error: &StoreError) -> AgentError {
    interrupted(error.to_string())
}
