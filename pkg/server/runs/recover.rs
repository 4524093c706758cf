//! Recovery of the runs that another process left behind.

use std::{collections::HashMap, sync::Arc};

use super::run::{RUN_END, Run};
use crate::{
    agent::{Found, RunContext, RunStream, Ways},
    server::{
        Service,
        conversations::{Conversation, turns::Turn},
        encode::RunEnd,
        input::{
            client_tools::{self, ClientTools},
            pending::{Answer, Answers, Counts, Word},
        },
        readers::scope_events,
    },
    store::{ConversationKey, LogError, RunChange, RunProgress, RunRecord, StoreError, now_ms},
    types::{AgentError, AgentEvent, Envelope, ErrorCode, Text, UsageInfo},
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
type Tools = HashMap<Text, Arc<ClientTools>>;

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
struct Resumed {
    stream: RunStream,
    /// The number of its events so far.
    events: u64,
    /// The turn that the run was in, if any.
    turn: Option<u32>,
    /// The requests that the run waited for.
    awaited: Vec<Text>,
    /// The messages sent to the run that are not in its journal.
    words: Vec<Word>,
    /// The answers to its requests that are not in its journal.
    answers: Answers,
    /// The token usage of its requests so far.
    used: Option<UsageInfo>,
}

/// The outcome for one run.
enum Fate {
    Resumed(Box<Resumed>),
    Interrupted(AgentError),
    /// The log already contains the end of the run.
    Ended(Box<RunEnd>),
}

impl Service {
    /// Recovers the runs that an earlier process left behind: each is resumed from its journal, started if it had not been, or ended as interrupted; its
    /// log continues without a gap. Call this once, before serving requests.
    ///
    /// A tool that is not [idempotent](crate::agent::tools::Tool::is_idempotent) does not run twice. A run that has been resumed three times is
    /// interrupted.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read.
    pub async fn recover(&self) -> Result<Recovered, StoreError> {
        self.start_sweeping();
        let mut recovered = Recovered::default();
        let mut conversations: HashMap<ConversationKey, Vec<RunRecord>> = HashMap::new();
        for record in self.stores().runs.open(MAX_RECOVERED).await? {
            conversations.entry(record.conversation_key()).or_default().push(record);
        }
        for records in conversations.into_values() {
            self.recover_conversation(records, &mut recovered).await;
        }
        Ok(recovered)
    }

    /// Resumes the runs of one conversation in order, before those that start now.
    async fn recover_conversation(&self, records: Vec<RunRecord>, recovered: &mut Recovered) {
        let mut going_on = Vec::new();
        // Any of them may be the one with the open journal.
        let tools = records.iter().filter_map(|record| {
            Some((record.key.name.clone(), client_tools::kept_tools(record.input.as_deref()?)?))
        });
        let tools: Tools = tools.collect();
        for record in records {
            let events = self.log_end(&record).await;
            let conversation = self.unread_conversation(&record).await;
            let fate = match (&conversation, &events) {
                (Ok(conversation), Ok(events)) => {
                    self.fate(&record, conversation, *events, &tools).await
                }
                (Err(error), _) => Fate::Interrupted(error.clone()),
                (_, Err(error)) => Fate::Interrupted(failed(error)),
            };
            let events = events.unwrap_or_default();
            match (fate, conversation) {
                (Fate::Resumed(resumed), Ok(conversation)) => {
                    recovered.resumed += 1;
                    let Resumed { stream, events: from, turn, mut awaited, words, answers, used } =
                        *resumed;
                    // A client that decides now has read the events in the log.
                    let ways = Ways::of(&stream);
                    for word in words {
                        if let Err(error) = word.say(&ways.steering) {
                            tracing::error!(%error, run_id = %record.key.name, "an input is lost");
                        }
                    }
                    if record.input.as_deref().is_some_and(client_tools::is_cancelled) {
                        ways.cancel.cancel();
                    }
                    let given = answers.into_iter().map(|Answer { id, given, .. }| (id, given));
                    if record.input.as_deref().is_some_and(client_tools::is_left) {
                        awaited.clear();
                        ways.steering.leave(given.collect());
                    } else {
                        for (id, given) in given {
                            // The answer is given as soon as the request is open again.
                            awaited.retain(|awaited| *awaited != id);
                            ways.steering.give_when_open(id, given);
                        }
                    }
                    let run = Run::left(&record, ways, turn, from, awaited).used(used);
                    let run = Arc::new(run);
                    self.add_run(&run);
                    if from == 0
                        && let Err(error) = scope_events::note_left(&self.log(), &run).await
                    {
                        tracing::error!(%error, run_id = run.id(), "a run cannot be recorded");
                    }
                    let turn = conversation.begin(&run);
                    going_on.push((run, stream, turn, from));
                }
                (Fate::Ended(end), _) => {
                    recovered.ended += 1;
                    Self::not_here(&record).finish_as_told(self.stores(), *end).await;
                }
                (Fate::Interrupted(why), conversation) => {
                    recovered.interrupted += 1;
                    tracing::warn!(error = %why, run_id = %record.key.name, "a run is interrupted");
                    // The conversation keeps every acknowledged message, whatever happens to the run.
                    self.keep_said(&record).await;
                    let used = self.used_in_log(&record, events).await;
                    Self::not_here(&record).interrupt(self.stores(), (events, used), why).await;
                    if let Ok(conversation) = conversation
                        && let Err(error) = conversation.agent.reread().await
                    {
                        tracing::warn!(%error, "a conversation cannot continue");
                    }
                }
                (Fate::Resumed(_), Err(_)) => {}
            }
        }
        for (run, stream, turn, from) in going_on {
            self.go_on(run, stream, turn, from);
        }
    }

    /// Returns the conversation of a run to resume; its journal has not been read yet.
    async fn unread_conversation(
        &self,
        record: &RunRecord,
    ) -> Result<Arc<Conversation>, AgentError> {
        let scope = &record.key.scope;
        if let Some(known) = self.0.conversations.find(scope, &record.conversation) {
            return Ok(known);
        }
        let failed = |why: String| AgentError::new(ErrorCode::Journal, why);
        let stored = self.0.stores.conversations.get(&record.conversation_key()).await;
        let stored = stored.map_err(|error| failed(error.to_string()))?;
        let agent = self.0.agents.get(&stored.agent).ok_or_else(|| {
            failed(format!("the service no longer has the agent `{}`", stored.agent))
        })?;
        Ok(self.0.conversations.add(scope, self.of_stored(&stored, agent)))
    }

    /// Drives a run that another process left behind, from event number `from` on.
    fn go_on(&self, run: Arc<Run>, stream: RunStream, turn: Turn, from: u64) {
        let this = self.clone();
        self.0.tasks.spawn(async move {
            let comes = run.cancel.run_until_cancelled(turn.comes());
            this.0.away.run_until_cancelled(comes).await;
            let change = RunChange::to(RunProgress::Running, now_ms()).is_resumed(true);
            run.keep(this.stores(), change).await;
            this.drive_here(&run, stream, this.0.places.beside(), from).await;
            drop(turn);
        });
    }

    /// Returns the number of records of a run's log, which is created if missing.
    async fn log_end(&self, record: &RunRecord) -> Result<u64, LogError> {
        let log = &self.stores().log;
        match log.read(&record.key, u64::MAX, 1).await {
            Err(LogError::NotFound { .. }) => log.create(record.key.clone()).await.map(|()| 0),
            Err(LogError::Behind { end, .. }) => Ok(end),
            other => other.map(|page| page.next),
        }
    }

    async fn fate(
        &self,
        record: &RunRecord,
        conversation: &Conversation,
        events: u64,
        tools: &Tools,
    ) -> Fate {
        match self.find_fate(record, conversation, events, tools).await {
            Ok(fate) => fate,
            Err(error) => Fate::Interrupted(error),
        }
    }

    async fn find_fate(
        &self,
        record: &RunRecord,
        conversation: &Conversation,
        events: u64,
        tools: &Tools,
    ) -> Result<Fate, AgentError> {
        if let Some(end) = self.told_end(record, events).await? {
            return Ok(Fate::Ended(Box::new(end)));
        }
        let share = |run: &str, context: &mut RunContext| {
            if let Some(tools) = tools.get(run) {
                context.share(Arc::clone(tools));
            }
        };
        let found = conversation.agent.reopen(&record.key.name, share).await?;
        self.fate_of(record, conversation, events, found).await
    }

    /// Returns the outcome for a run whose journal was found in this state.
    async fn fate_of(
        &self,
        record: &RunRecord,
        conversation: &Conversation,
        events: u64,
        found: Found,
    ) -> Result<Fate, AgentError> {
        if record.resumed >= MAX_RESUMED {
            let why =
                format!("the run was resumed in {MAX_RESUMED} processes, and each of them died");
            return Err(interrupted(why));
        }
        let words = |journaled| {
            let kept = record.input.as_deref().map(client_tools::kept_words);
            kept.unwrap_or_default().without(journaled)
        };
        match found {
            Found::Open(reopened) => {
                let first = reopened.events();
                if first > events {
                    return Err(interrupted(format!("its events from {events} on were lost")));
                }
                let told = self.told(record, first, events).await?;
                let last = self.told(record, events.saturating_sub(1), events).await?;
                let turn = last.last().map(|last| last.turn);
                let journaled = conversation.journal.read_run(&record.key.name).await;
                let (journaled, _) = journaled.map_err(|error| interrupted(error.to_string()))?;
                let words = words(journaled.words);
                conversation.journal.goes_on_with(journaled);
                let told: Vec<_> = told.into_iter().map(|told| told.event).collect();
                let mut awaited = reopened.requests();
                awaited.extend(open_questions(&told));
                let used = used(reopened.usage(), &told);
                let stream = reopened.into_stream(told);
                let answers = record.input.as_deref().map(client_tools::kept_answers);
                let answers = answers.unwrap_or_default();
                let resumed = Resumed { stream, events, turn, awaited, words, answers, used };
                Ok(Fate::Resumed(Box::new(resumed)))
            }
            Found::Over => Err(interrupted("the conversation went on without it".to_owned())),
            // No work was done for the run yet.
            Found::Unknown => {
                let Some(input) = record.input.as_deref().and_then(client_tools::kept_input) else {
                    return Err(interrupted("its input is missing".to_owned()));
                };
                if events > 0 {
                    return Err(interrupted("it had started, and its journal is lost".to_owned()));
                }
                let stream = conversation.agent.run_stream_as(input, record.key.name.clone());
                let (events, turn, awaited, used) = (0, None, Vec::new(), None);
                let (words, answers) = (words(Counts::default()), Answers::default());
                let resumed = Resumed { stream, events, turn, awaited, words, answers, used };
                Ok(Fate::Resumed(Box::new(resumed)))
            }
        }
    }

    /// Returns the end of a run, if it is the last record of its log.
    async fn told_end(
        &self,
        record: &RunRecord,
        events: u64,
    ) -> Result<Option<RunEnd>, AgentError> {
        let Some(last) = events.checked_sub(1) else { return Ok(None) };
        let page = self.stores().log.read(&record.key, last, 1).await;
        let page = page.map_err(|error| failed(&error))?;
        let end = page.records.first().filter(|record| record.kind == RUN_END);
        Ok(end.and_then(|record| serde_json::from_slice(&record.data).ok()))
    }

    /// Returns the token usage reported by the events of a run, as far as they can be read.
    async fn used_in_log(&self, record: &RunRecord, to: u64) -> Option<UsageInfo> {
        let (mut told, mut at) = (None, 0);
        while at < to {
            let page = self.stores().log.read(&record.key, at, PAGE).await.ok()?;
            let kinds = page.records.iter().filter(|record| record.kind == TOKEN_USAGE);
            for record in kinds {
                let envelope = serde_json::from_slice::<Envelope>(&record.data).ok()?;
                told = used(told, std::slice::from_ref(&envelope.event));
            }
            if page.next == at {
                break;
            }
            at = page.next;
        }
        told
    }

    /// Reads the events of a run from number `from` up to `to`.
    async fn told(
        &self,
        record: &RunRecord,
        from: u64,
        to: u64,
    ) -> Result<Vec<Envelope>, AgentError> {
        let (mut told, mut at) = (Vec::new(), from);
        while at < to {
            let page = self.stores().log.read(&record.key, at, PAGE).await;
            let page = page.map_err(|error| failed(&error))?;
            for record in &page.records {
                let envelope = serde_json::from_slice::<Envelope>(&record.data);
                let envelope = envelope.map_err(|error| interrupted(error.to_string()))?;
                told.push(envelope);
            }
            if page.next == at {
                break;
            }
            at = page.next;
        }
        Ok(told)
    }
}

/// Returns the ids of the questions that were asked and not answered: a call that may run again asks them again.
fn open_questions(told: &[AgentEvent]) -> Vec<Text> {
    let mut open = Vec::new();
    for event in told {
        if let AgentEvent::ToolQuestion(question) = event {
            open.push(question.question_id.clone());
        } else if let AgentEvent::ToolQuestionEnd { question_id, .. } = event {
            open.retain(|id| id != question_id);
        }
    }
    open
}

/// Returns the token usage of a run: that in its journal, and that of later events.
fn used(journaled: Option<UsageInfo>, told: &[AgentEvent]) -> Option<UsageInfo> {
    let mut used = journaled;
    for event in told {
        if let AgentEvent::TokenUsage { usage } = event {
            used.get_or_insert_default().add(usage);
        }
    }
    used
}

fn interrupted(why: String) -> AgentError {
    AgentError::new(ErrorCode::Journal, why)
}

fn failed(error: &LogError) -> AgentError {
    interrupted(error.to_string())
}
