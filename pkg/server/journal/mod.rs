//! The journal of a conversation, in the conversation store.

pub(super) mod line;
pub(super) mod rewound;
pub(super) mod undelivered;

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use tokio::sync::{Mutex, Notify};

use self::{line::Line, undelivered::Undelivered};
use super::{
    Problem,
    input::pending::{JournaledAnswers, MessageCounts},
};
use forgeline_agent::journal::{Journal, JournalError, JournalFuture};
use forgeline_store::{ConversationKey, ConversationStore, Entry, StoreError, private::now_ms};
use forgeline_types::{AgentError, ErrorCode, Message, Text};

/// Maximum number of lines read at a time.
const PAGE: usize = 256;

/// Number of last messages that are searched for one that an earlier process may have added.
const LAST_SAID: u64 = 200;

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
    /// The store error of the last read or write.
    failure: std::sync::Mutex<Option<StoreError>>,
}

/// The number of events in the log of each active run.
#[derive(Debug, Default)]
pub(crate) struct LogProgress(std::sync::Mutex<HashMap<Text, Arc<EventCounter>>>);

/// The number of events in the log of a run.
#[derive(Debug)]
pub(crate) struct EventCounter {
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
    pub(crate) fn begin(&self, run: &str, events: u64) -> Arc<EventCounter> {
        let events = EventCounter { count: AtomicU64::new(events), changed: Notify::new() };
        let events = Arc::new(events);
        self.lock().insert(run.into(), Arc::clone(&events));
        events
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
pub(crate) struct Journaled {
    run: Text,
    /// `true` once the journal contains a message of the run.
    pub(crate) has_said: bool,
    /// The numbers of messages that the user sent during the run.
    pub(crate) words: MessageCounts,
    /// The answers to requests.
    pub(crate) answered: JournaledAnswers,
}

impl Journaled {
    /// Records an input of the run, and whether it added messages.
    fn note(&mut self, input: Option<&RawValue>, adds: bool) {
        self.has_said |= adds;
        let is = |words: &str| input.is_some_and(|input| input.get().starts_with(words));
        self.words.steers += u64::from(is(r#"{"said":{"steer":"#));
        self.words.follow_ups += u64::from(is(r#"{"said":{"follow_up":"#));
        if is(r#"{"decided":"#) || is(r#"{"returned":"#) || is(r#"{"answered":"#) {
            match input.map(|input| serde_json::from_str(input.get())) {
                Some(Ok(
                    Ended::Decided(_, Request { id }) | Ended::Returned(_, Request { id }),
                )) => {
                    self.answered.add(id);
                }
                Some(Ok(Ended::Answered(Place { turn }, _))) => self.answered.begin(turn),
                // A line that cannot be read is never written.
                Some(Err(_)) | None => {}
            }
        }
    }
}

/// An input that ends a request or a turn.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ended {
    Decided(IgnoredAny, Request),
    Returned(IgnoredAny, Request),
    Answered(Place, IgnoredAny),
}

#[derive(Deserialize)]
struct Request {
    #[serde(alias = "approval_id", alias = "client_call_id")]
    id: Text,
}

#[derive(Deserialize)]
struct Place {
    turn: u32,
}

impl StoredJournal {
    pub(crate) fn new(
        store: Arc<dyn ConversationStore>,
        key: ConversationKey,
        told: Arc<LogProgress>,
    ) -> Self {
        let (entries, run) = (Mutex::default(), std::sync::Mutex::default());
        let failure = std::sync::Mutex::default();
        Self(Arc::new(Inside { store, key, entries, run, told, failure }))
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
        let (Inside { store, key, .. }, mut from, mut is_its) = (&*self.0, 0, false);
        let mut words = Undelivered::default();
        let mut journaled = Journaled { run: run.into(), ..Journaled::default() };
        loop {
            let page = store.lines(key, from, PAGE).await?;
            let Some((last, _)) = page.last() else {
                return Ok((journaled, words.into_messages()));
            };
            from = last + 1;
            for (_, line) in &page {
                let Ok(Line { record }) = serde_json::from_str::<Line<'_, &RawValue>>(line) else {
                    continue;
                };
                if let Some(began) = record.began {
                    is_its = began.state.outcome.run_id == run;
                }
                if let Some(took) = record.took.filter(|_| is_its) {
                    journaled.note(took.input, !took.messages.is_empty());
                    words.note(took.input, &took.messages);
                }
            }
        }
    }

    /// Adds a message that belongs to no line, with the time at which it was sent, unless it is already among the last messages.
    pub(crate) async fn say(&self, at_ms: u64, message: Message) -> Result<(), StoreError> {
        let Inside { store, key, entries, .. } = &*self.0;
        // The lock keeps lines from being added in between.
        let mut entries = entries.lock().await;
        let head = store.get(key).await?;
        let last = head.messages.saturating_sub(LAST_SAID);
        let said = store.messages(key, last, PAGE).await?;
        if said.iter().any(|it| it.at_ms == at_ms && it.message == message) {
            return Ok(());
        }
        *entries = None;
        store.append(key, head.entries, Entry::new(at_ms).message(message)).await?;
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

    fn failure(&self) -> std::sync::MutexGuard<'_, Option<StoreError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records whether the store failed.
    fn noted<T>(&self, done: Result<T, StoreError>) -> Result<T, JournalError> {
        let failed = done.as_ref().err().cloned();
        *self.failure() = failed;
        done.map_err(|error| JournalError::new(error.to_string()))
    }

    async fn append(&self, line: String) -> Result<(), JournalError> {
        let read: Line<'_, Message> = serde_json::from_str(&line)
            .map_err(|error| JournalError::new(format!("a line cannot be read: {error}")))?;
        let mut entry = Entry::new(now_ms());
        if let Some(began) = read.record.began {
            let run = began.state.outcome.run_id;
            *self.lock() = Journaled { run, ..Journaled::default() };
        }
        let mut journaled = self.lock().clone();
        if let Some(took) = read.record.took {
            journaled.note(took.input, !took.messages.is_empty());
            entry.messages = took.messages;
            self.told.wait(&journaled.run, took.events).await;
        }
        let mut entries = self.entries.lock().await;
        // Until the append returns, the number of entries is unknown.
        let at = match entries.take() {
            Some(at) => at,
            None => self.noted(self.store.get(&self.key).await)?.entries,
        };
        self.noted(self.store.append(&self.key, at, entry.line(line)).await)?;
        *entries = Some(at + 1);
        *self.lock() = journaled;
        Ok(())
    }

    async fn read(&self) -> Result<Vec<String>, JournalError> {
        let (mut lines, mut from) = (Vec::new(), 0);
        loop {
            let page = self.noted(self.store.lines(&self.key, from, PAGE).await)?;
            let Some((last, _)) = page.last() else { return Ok(lines) };
            from = last + 1;
            lines.extend(page.into_iter().map(|(_, line)| line));
        }
    }
}

impl Journal for StoredJournal {
    fn append(&self, line: String) -> JournalFuture<()> {
        let inside = Arc::clone(&self.0);
        Box::pin(async move { inside.append(line).await })
    }

    fn read(&self) -> JournalFuture<Vec<String>> {
        let inside = Arc::clone(&self.0);
        Box::pin(async move { inside.read().await })
    }
}
