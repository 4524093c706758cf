//! The journal of a conversation, in the conversation store.

mod lines;
pub(super) mod resume_error;
pub(super) mod rewound;
pub(super) mod run_fence;
mod run_journal;
pub(super) mod undelivered;

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::{Mutex, Notify};

pub use self::run_journal::RunJournal;
use self::{
    lines::{LineReader, StoredLine},
    run_fence::{RunFence, is_outage, is_setback},
    undelivered::Undelivered,
};
use super::{
    Problem,
    input::pending::{JournaledAnswers, MessageCounts},
};
use forgeline_agent::journal::{
    Journal, JournalEntry, JournalError, JournalFuture, JournalLine, JournalStep, JournaledInput,
};
use forgeline_store::{
    ConversationKey, ConversationStore, Entry, RunWriter, StoreError, private::now_ms,
};
use forgeline_types::{AgentError, ErrorCode, Message, Text};

/// Maximum time in which a store answers.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Number of last messages that are searched for one that an earlier process may have added.
const LAST_SAID: usize = 200;

/// The journal of a conversation. A line is stored together with the messages that it adds, and after the events that preceded it are in the log: the
/// events of a process that resumes the run follow on from those.
#[derive(Clone)]
pub(crate) struct StoredJournal(Arc<Inside>);

struct Inside {
    store: Arc<dyn ConversationStore>,
    key: ConversationKey,
    /// The number of entries; `None` while unknown.
    entries: Mutex<Option<u64>>,
    /// The part of the current run that has been written.
    run: std::sync::Mutex<Journaled>,
    told: Arc<LogProgress>,
    /// `true` if other nodes write the conversation, too.
    is_shared: bool,
    /// The number of entries that the conversation in memory contains, if other nodes write it, too; `None` while unknown.
    read_to: std::sync::Mutex<Option<u64>>,
    /// The store error of the last read or write.
    failure: std::sync::Mutex<Option<StoreError>>,
}

/// The number of events in the log of each active run, and the right to write the run.
#[derive(Debug, Default)]
pub(crate) struct LogProgress(std::sync::Mutex<HashMap<Text, Arc<EventCounter>>>);

/// The number of events in the log of a run, and the right to write the run.
#[derive(Debug)]
pub(crate) struct EventCounter {
    fence: Arc<RunFence>,
    count: AtomicU64,
    changed: Notify,
}

impl EventCounter {
    pub(crate) fn set(&self, count: u64) {
        self.count.store(count, Ordering::Release);
        self.changed.notify_waiters();
    }
}

impl LogProgress {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Text, Arc<EventCounter>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers an active run whose log contains `events` events; returns its counter.
    pub(crate) fn begin(&self, fence: &Arc<RunFence>, events: u64) -> Arc<EventCounter> {
        let (count, fence) = (AtomicU64::new(events), Arc::clone(fence));
        let run = fence.writer().run.name.clone();
        let events = Arc::new(EventCounter { fence, count, changed: Notify::new() });
        self.lock().insert(run, Arc::clone(&events));
        events
    }

    /// Returns the right to write an active run.
    fn fence(&self, run: &Text) -> Option<Arc<RunFence>> {
        self.lock().get(run).map(|events| Arc::clone(&events.fence))
    }

    pub(crate) fn end(&self, run: &str) {
        let ended = self.lock().remove(run);
        if let Some(events) = ended {
            events.set(u64::MAX);
        }
    }

    /// Waits until the log of a run contains `count` events; returns at once for a run that is not registered.
    async fn wait(&self, run: &Text, count: u64) {
        let Some(events) = self.lock().get(run).cloned() else { return };
        loop {
            // Registered before the check, so that a change after it is not missed.
            let changed = events.changed.notified();
            if events.count.load(Ordering::Acquire) >= count {
                return;
            }
            changed.await;
        }
    }
}

/// The part of a run that the journal contains.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Journaled {
    run: Text,
    /// `true` once the journal contains a message of the run.
    pub(crate) has_said: bool,
    /// The numbers of messages that the user sent during the run.
    pub(crate) words: MessageCounts,
    /// The answers to requests.
    pub(crate) answered: JournaledAnswers,
    /// `true` once the journal contains the beginning of the run.
    pub(crate) has_begun: bool,
}

impl Journaled {
    /// Records an input of the run, and whether it added messages.
    fn note(&mut self, input: &JournaledInput, adds: bool) {
        self.has_said |= adds;
        match input {
            JournaledInput::Steer(_) => self.words.steers += 1,
            JournaledInput::FollowUp(_) => self.words.follow_ups += 1,
            JournaledInput::RequestAnswered { request_id, .. } => {
                self.answered.add(request_id.clone());
            }
            JournaledInput::Answer { turn, .. } => self.answered.begin(*turn),
            JournaledInput::Other | _ => {}
        }
    }
}

impl StoredJournal {
    pub(crate) fn new(
        store: Arc<dyn ConversationStore>,
        key: ConversationKey,
        told: Arc<LogProgress>,
        is_shared: bool,
    ) -> Self {
        let (entries, run) = (Mutex::default(), std::sync::Mutex::default());
        let (read_to, failure) = (std::sync::Mutex::default(), std::sync::Mutex::default());
        Self(Arc::new(Inside { store, key, entries, run, told, is_shared, read_to, failure }))
    }

    /// Returns `true` if other nodes write the conversation, too.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.is_shared
    }

    /// Returns the number of entries of the conversation in the store.
    pub(crate) async fn head(&self) -> Result<u64, StoreError> {
        Ok(self.0.store.get(&self.0.key).await?.entries)
    }

    /// Returns `true` if the conversation in memory contains all of this number of entries, and no others.
    pub(crate) fn has_read(&self, head: u64) -> bool {
        *self.0.read_to() == Some(head)
    }

    /// Records that the conversation in memory contains this number of entries.
    pub(crate) async fn note_read(&self, head: u64) {
        *self.0.entries.lock().await = Some(head);
        *self.0.read_to() = Some(head);
    }

    /// Returns the error of the last read or write if the store could not be used, or did not answer in time.
    pub(crate) fn outage(&self) -> Option<StoreError> {
        self.0.failure().clone().filter(is_outage)
    }

    /// Returns `true` if the last write failed in a way in which the next one may succeed, once the conversation was read again.
    pub(crate) fn may_recover(&self) -> bool {
        let failure = self.0.failure();
        failure.as_ref().is_some_and(|error| {
            let is_behind = matches!(error, StoreError::Behind { .. } | StoreError::Fenced { .. });
            is_outage(error) || is_behind
        })
    }

    /// Returns the part of a run known to be in the journal, without reading it.
    pub(crate) fn journaled(&self, run: &str) -> Journaled {
        let current = self.0.lock();
        if current.run == run { current.clone() } else { Journaled::default() }
    }

    /// Returns the journaled part of a run, and the messages that it took but did not deliver to its model. Unreadable lines are ignored.
    pub(crate) async fn read_run(
        &self,
        run: &str,
    ) -> Result<(Journaled, Vec<Message>), StoreError> {
        let Inside { store, key, .. } = &*self.0;
        let (mut reader, mut is_its) = (LineReader::new(&**store, key), false);
        let mut words = Undelivered::default();
        let mut journaled = Journaled { run: run.into(), ..Journaled::default() };
        while let Some(page) = reader.read_page().await? {
            for line in page {
                match line.step {
                    Some(JournalStep::RunBegan { run_id, .. }) => {
                        is_its = run_id == run;
                        journaled.has_begun |= is_its;
                    }
                    Some(JournalStep::InputTaken { input, messages, .. }) if is_its => {
                        journaled.note(&input, messages > 0);
                        words.note(input, &line.messages);
                    }
                    _ => {}
                }
            }
        }
        Ok((journaled, words.into_messages()))
    }

    /// Adds a message of a run that belongs to no line, with the time at which it was sent, unless it is already among the last messages.
    pub(crate) async fn say(
        &self,
        at_ms: u64,
        message: Message,
        writer: &RunWriter,
    ) -> Result<(), StoreError> {
        let Inside { store, key, entries, .. } = &*self.0;
        // The lock keeps lines from being added in between.
        let mut entries = entries.lock().await;
        let head = store.get(key).await?;
        let last = head.messages.saturating_sub(LAST_SAID as u64);
        let said = store.messages(key, last, LAST_SAID).await?;
        if said.iter().any(|it| it.at_ms == at_ms && it.message == message) {
            return Ok(());
        }
        *entries = None;
        let entry = Entry::new(at_ms).message(message);
        store.append(key, head.entries, entry, Some(writer)).await?;
        *entries = Some(head.entries + 1);
        Ok(())
    }

    /// Returns the response to a request that failed with this error of the conversation; if its store failed, that of the store error.
    pub(crate) fn problem(&self, error: AgentError) -> Problem {
        let failure = self.0.failure().clone();
        match failure {
            Some(failure) if error.code == ErrorCode::Journal => failure.into(),
            _ => error.into(),
        }
    }

    /// Sets the run whose lines follow, if another process wrote its first line.
    pub(crate) fn goes_on_with(&self, journaled: Journaled) {
        *self.0.lock() = journaled;
    }
}

impl Inside {
    fn lock(&self) -> std::sync::MutexGuard<'_, Journaled> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_to(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        self.read_to.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self) -> std::sync::MutexGuard<'_, Option<StoreError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the store of several nodes is used: an agent that does not wait for the answer drops the future.
    fn begin_access(&self) {
        if self.is_shared {
            *self.failure() = Some(StoreError::slow(ANSWER_LIMIT));
        }
    }

    /// Records whether the store failed.
    fn noted<T>(&self, done: Result<T, StoreError>) -> Result<T, JournalError> {
        let failed = done.as_ref().err().cloned();
        *self.failure() = failed;
        done.map_err(|error| JournalError::new(error.to_string()))
    }

    async fn append(&self, entry: JournalEntry) -> Result<(), JournalError> {
        // Messages that no run added are older than the run that begins in this moment.
        let is_given = matches!(entry.step(), JournalStep::MessagesGiven { .. });
        let at_ms = now_ms().saturating_sub(u64::from(is_given));
        let mut stored = Entry::new(at_ms).line(entry.head());
        stored.messages.extend(entry.messages().iter().map(|message| Message::clone(message)));
        if let JournalStep::RunBegan { run_id, .. } = entry.step() {
            let has_begun = true;
            *self.lock() = Journaled { run: run_id.clone(), has_begun, ..Journaled::default() };
        }
        let mut journaled = self.lock().clone();
        if let JournalStep::InputTaken { input, messages, events, .. } = entry.step() {
            journaled.note(input, *messages > 0);
            self.told.wait(&journaled.run, *events).await;
        }
        // What is given or taken back between runs belongs to none.
        let is_of_run = !is_given && !matches!(entry.step(), JournalStep::RunRewound { .. });
        let fence = self.told.fence(&journaled.run).filter(|_| is_of_run);
        if let Some(lost) = fence.as_ref().filter(|fence| fence.is_lost()) {
            let RunWriter { run, epoch, .. } = lost.writer();
            return self.noted(Err(StoreError::fenced(run.name.clone(), *epoch)));
        }
        let mut entries = self.entries.lock().await;
        // Until the append returns, the number of entries is unknown.
        let mut at = match entries.take() {
            Some(at) => at,
            None => self.noted(self.store.get(&self.key).await)?.entries,
        };
        self.begin_access();
        let writer = fence.as_ref().map(|fence| fence.writer());
        let mut appended = self.store.append(&self.key, at, stored.clone(), writer).await;
        // Another node may have added messages of a run that waited and was cancelled, which belong to no line.
        if let Err(StoreError::Behind { end, .. }) = appended
            && self.is_shared
            && end > at
            && self.noted(self.store.lines(&self.key, at, 1).await)?.is_empty()
        {
            at = end;
            appended = self.store.append(&self.key, at, stored, writer).await;
        }
        if let (Some(fence), Err(error)) = (&fence, &appended)
            && self.is_shared
            && is_setback(error)
        {
            fence.lose(error);
        }
        self.noted(match &fence {
            Some(fence) => fence.noted(appended),
            None => appended,
        })?;
        *entries = Some(at + 1);
        let mut read_to = self.read_to();
        *read_to = read_to.filter(|read_to| *read_to == at).map(|_| at + 1);
        drop(read_to);
        *self.lock() = journaled;
        Ok(())
    }

    async fn read(&self) -> Result<Vec<JournalLine>, JournalError> {
        self.begin_access();
        let (mut lines, mut reader) = (Vec::new(), LineReader::new(&*self.store, &self.key));
        while let Some(page) = self.noted(reader.read_page().await)? {
            lines.extend(page.into_iter().map(StoredLine::into_line));
        }
        Ok(lines)
    }
}

impl Journal for StoredJournal {
    fn append(&self, entry: &JournalEntry) -> JournalFuture<()> {
        let (inside, entry) = (Arc::clone(&self.0), entry.clone());
        Box::pin(async move { inside.append(entry).await })
    }

    fn read(&self) -> JournalFuture<Vec<JournalLine>> {
        let inside = Arc::clone(&self.0);
        Box::pin(async move { inside.read().await })
    }
}
