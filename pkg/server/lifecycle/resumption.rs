//! The decision how a run that another process left behind goes on.

use std::{collections::HashMap, sync::Arc};

use super::{
    RunLifecycle,
    run_log::{interrupted, open_questions, used},
};
use crate::{
    conversations::ConversationForRun,
    encode::RunEnd,
    input::{
        client_tools::ClientTools,
        pending::{MessageCounts, PendingAnswer, QueuedMessage},
        stored_input::StoredInput,
    },
    journal::resume_error::ResumeError,
};
use forgeline_agent::{RunStream, private::RunInJournal, run::RunContext};
use forgeline_store::{StoreError, StoredRun};
use forgeline_types::{AgentError, Text, UsageInfo};

/// Maximum number of times that a run is resumed; then it is interrupted, as it may be what crashes the processes.
const MAX_RESUMED: u32 = 3;

/// Maximum number of times that a run of a shared store is resumed since it was last handed over, also after outages of the store.
const MAX_RESUMED_ON_NODES: u32 = 100;

/// The tools of requests, by run.
pub(super) type ToolsByRun = HashMap<Text, Arc<ClientTools>>;

/// A resumed run.
pub(super) struct ResumedRun {
    pub(super) stream: RunStream,
    /// `true` if its journal contains its beginning.
    pub(super) has_begun: bool,
    /// The number of its events so far.
    pub(super) events: u64,
    /// The turn that the run was in, if any.
    pub(super) turn: Option<u32>,
    /// The requests that the run waited for.
    pub(super) awaited: Vec<Text>,
    /// The messages sent to the run that are not in its journal.
    pub(super) words: Vec<QueuedMessage>,
    /// The answers to its requests that are not in its journal.
    pub(super) answers: Vec<PendingAnswer>,
    /// The token usage of its requests so far.
    pub(super) used: Option<UsageInfo>,
}

/// The outcome for one run.
pub(super) enum RecoveryOutcome {
    Resumed(Box<ResumedRun>),
    Interrupted(AgentError),
    /// Another node may have the agent of the run; if none does, this is the reason of its end.
    Elsewhere(AgentError),
    /// The log already contains the end of the run.
    Ended(Box<RunEnd>),
    /// The shared store fails now; the run is released once it works.
    Later(StoreError),
}

impl RunLifecycle {
    /// Returns the outcome for a run.
    pub(super) async fn fate(
        &self,
        record: &StoredRun,
        conversation: &ConversationForRun,
        tools: &ToolsByRun,
    ) -> RecoveryOutcome {
        match self.find_fate(record, conversation, tools).await {
            Ok(fate) => fate,
            Err(error) => self.fate_after(error),
        }
    }

    /// Returns the outcome for a run that could not be resumed. A process with a store of its own does not try it again.
    pub(super) fn fate_after(&self, error: ResumeError) -> RecoveryOutcome {
        match error {
            ResumeError::Outage(error) if self.stores.runs.is_shared() => {
                RecoveryOutcome::Later(error)
            }
            ResumeError::NoAgent(error) if self.stores.runs.is_shared() => {
                RecoveryOutcome::Elsewhere(error)
            }
            error @ (ResumeError::Unfit(_) | ResumeError::NoAgent(_) | ResumeError::Outage(_)) => {
                RecoveryOutcome::Interrupted(error.into_error())
            }
        }
    }

    async fn find_fate(
        &self,
        record: &StoredRun,
        conversation: &ConversationForRun,
        tools: &ToolsByRun,
    ) -> Result<RecoveryOutcome, ResumeError> {
        let events = self.log_end(record).await?;
        if let Some(end) = self.logged_end(record, events).await? {
            return Ok(RecoveryOutcome::Ended(Box::new(end)));
        }
        let share = |run: &str, context: &mut RunContext| {
            if let Some(tools) = tools.get(run) {
                context.share(Arc::clone(tools));
            }
        };
        let journal = &conversation.live.journal;
        let is_shared = self.stores.runs.is_shared();
        // One that has not begun waits for its turn first: another run of the conversation may be in progress here.
        if is_shared && events == 0 && !journal.read_run(&record.key.name).await?.0.has_begun {
            return self.fate_of(record, conversation, events, RunInJournal::Unknown).await;
        }
        let head = if is_shared { Some(journal.head().await?) } else { None };
        let found = conversation.handle.reopen(&record.key.name, share).await;
        let found = found.map_err(|error| {
            journal.outage().map_or_else(|| ResumeError::from(error), ResumeError::from)
        })?;
        if let Some(head) = head {
            journal.note_read(head).await;
        }
        self.fate_of(record, conversation, events, found).await
    }

    /// Returns an error for a run that was resumed too often.
    fn check_resumed(&self, record: &StoredRun) -> Result<(), AgentError> {
        let is_shared = self.stores.runs.is_shared();
        if is_shared && record.takeovers > MAX_RESUMED {
            let why = format!("{} nodes of the service died with the run", record.takeovers);
            return Err(interrupted(why));
        }
        let most = if is_shared { MAX_RESUMED_ON_NODES } else { MAX_RESUMED };
        if record.resumed >= most {
            let why = if is_shared {
                format!("the run was resumed {most} times, and got no further")
            } else {
                format!("the run was resumed in {most} processes, and each of them died")
            };
            return Err(interrupted(why));
        }
        Ok(())
    }

    /// Returns the outcome for a run whose journal was found in this state.
    async fn fate_of(
        &self,
        record: &StoredRun,
        conversation: &ConversationForRun,
        events: u64,
        found: RunInJournal,
    ) -> Result<RecoveryOutcome, ResumeError> {
        self.check_resumed(record)?;
        let stored = StoredInput::read(record);
        match found {
            found @ RunInJournal::Open(_) => {
                let resumed = self.resumed(record, conversation, events, found).await?;
                Ok(RecoveryOutcome::Resumed(Box::new(resumed)))
            }
            RunInJournal::Over => {
                Err(interrupted("the conversation went on without it".to_owned()).into())
            }
            // No work was done for the run yet.
            RunInJournal::Unknown => {
                let Some(input) = stored.run_input() else {
                    return Err(interrupted("its input is missing".to_owned()).into());
                };
                if events > 0 {
                    let why = "it had started, and its journal is lost";
                    return Err(interrupted(why.to_owned()).into());
                }
                let stream = conversation.handle.run_stream_as(input, record.key.name.clone());
                Ok(RecoveryOutcome::Resumed(Box::new(ResumedRun {
                    stream,
                    has_begun: false,
                    events: 0,
                    turn: None,
                    awaited: Vec::new(),
                    words: stored.messages_without(MessageCounts::default()),
                    answers: Vec::new(),
                    used: None,
                })))
            }
        }
    }

    /// Resumes a run whose journal is open.
    async fn resumed(
        &self,
        record: &StoredRun,
        conversation: &ConversationForRun,
        mut events: u64,
        found: RunInJournal,
    ) -> Result<ResumedRun, ResumeError> {
        let RunInJournal::Open(reopened) = found else {
            return Err(interrupted("its journal is not open".to_owned()).into());
        };
        let first = reopened.events();
        if first > events {
            return Err(interrupted(format!("its events from {events} on were lost")).into());
        }
        let mut logged = self.logged_events(record, first, events).await?;
        let last = self.logged_events(record, events.saturating_sub(1), events).await?;
        let turn = last.last().map(|last| last.turn);
        let (journaled, _) = conversation.live.journal.read_run(&record.key.name).await?;
        if let Some(noted) = self.note_takeover(record, (events, turn)).await? {
            logged.push(noted);
            events += 1;
        }
        let stored = StoredInput::read(record);
        let words = stored.messages_without(journaled.words);
        conversation.live.journal.goes_on_with(journaled);
        let logged: Vec<_> = logged.into_iter().map(|logged| logged.event).collect();
        let mut awaited = reopened.requests();
        awaited.extend(open_questions(&logged));
        let used = used(reopened.usage(), &logged);
        let stream = reopened.into_stream(logged);
        let (answers, has_begun) = (stored.answers(), true);
        Ok(ResumedRun { stream, has_begun, events, turn, awaited, words, answers, used })
    }
}
