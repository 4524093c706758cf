//! The journal of a conversation, in the store of conversations.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::Deserialize;
use tokio::sync::{Mutex, Notify};

use crate::{
    agent::journal::{Journal, JournalError, JournalFuture},
    store::{ConversationKey, ConversationStore, Entry, StoreError, now_ms},
    types::{Message, Text},
};

/// Most lines that are read at a time.
const PAGE: usize = 256;

/// The journal of a conversation. A line is kept together with the messages that it added, and behind the events that came before it:
/// what a process that goes on with the run tells, joins to what the log has.
#[derive(Clone)]
pub(super) struct StoredJournal(Arc<Inside>);

struct Inside {
    store: Arc<dyn ConversationStore>,
    key: ConversationKey,
    /// The number of entries; `None` while it is not known.
    entries: Mutex<Option<u64>>,
    /// The run whose lines come.
    run: std::sync::Mutex<Text>,
    told: Arc<Told>,
}

/// The number of events in the log of each run that works.
#[derive(Debug, Default)]
pub(super) struct Told(std::sync::Mutex<HashMap<Text, Arc<Events>>>);

/// The number of events in the log of a run.
#[derive(Debug)]
pub(super) struct Events {
    count: AtomicU64,
    changed: Notify,
}

impl Events {
    pub(super) fn set(&self, count: u64) {
        self.count.store(count, Ordering::Release);
        self.changed.notify_waiters();
    }
}

impl Told {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Text, Arc<Events>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a run works whose log has this number of events; returns the place of the number.
    pub(super) fn begin(&self, run: &str, events: u64) -> Arc<Events> {
        let events = Events { count: AtomicU64::new(events), changed: Notify::new() };
        let events = Arc::new(events);
        self.lock().insert(run.into(), Arc::clone(&events));
        events
    }

    pub(super) fn end(&self, run: &str) {
        let ended = self.lock().remove(run);
        if let Some(events) = ended {
            events.set(u64::MAX);
        }
    }

    /// Waits until this number of events of a run is in its log, or it has none.
    async fn wait(&self, run: &Text, count: u64) {
        let Some(events) = self.lock().get(run).cloned() else { return };
        loop {
            // It hears of what comes behind the look.
            let changed = events.changed.notified();
            if events.count.load(Ordering::Acquire) >= count {
                return;
            }
            changed.await;
        }
    }
}

/// The facts that a line tells of itself.
#[derive(Deserialize)]
struct Line {
    record: Record,
}

#[derive(Deserialize)]
struct Record {
    began: Option<Began>,
    took: Option<Took>,
}

#[derive(Deserialize)]
struct Began {
    state: State,
}

#[derive(Deserialize)]
struct State {
    outcome: Outcome,
}

#[derive(Deserialize)]
struct Outcome {
    run_id: Text,
}

#[derive(Deserialize)]
struct Took {
    messages: Vec<Message>,
    events: u64,
}

impl StoredJournal {
    pub(super) fn new(
        store: Arc<dyn ConversationStore>,
        key: ConversationKey,
        told: Arc<Told>,
    ) -> Self {
        let (entries, run) = (Mutex::default(), std::sync::Mutex::default());
        Self(Arc::new(Inside { store, key, entries, run, told }))
    }

    /// Sets the run whose lines come, where another process has written its first.
    pub(super) fn goes_on_with(&self, run: &str) {
        *self.0.run.lock().unwrap_or_else(PoisonError::into_inner) = run.into();
    }
}

impl Inside {
    async fn append(&self, line: String) -> Result<(), JournalError> {
        let read: Line = serde_json::from_str(&line)
            .map_err(|error| JournalError::new(format!("a line cannot be read: {error}")))?;
        let mut entry = Entry::new(now_ms()).line(line);
        if let Some(began) = read.record.began {
            *self.run.lock().unwrap_or_else(PoisonError::into_inner) = began.state.outcome.run_id;
        }
        if let Some(took) = read.record.took {
            entry.messages = took.messages;
            let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.told.wait(&run, took.events).await;
        }
        let mut entries = self.entries.lock().await;
        // While it is not known whether an entry was kept, the number is not either.
        let at = match entries.take() {
            Some(at) => at,
            None => self.store.get(&self.key).await.map_err(failed)?.entries,
        };
        self.store.append(&self.key, at, entry).await.map_err(failed)?;
        *entries = Some(at + 1);
        Ok(())
    }

    async fn read(&self) -> Result<Vec<String>, JournalError> {
        let (mut lines, mut from) = (Vec::new(), 0);
        loop {
            let page = self.store.lines(&self.key, from, PAGE).await.map_err(failed)?;
            let Some((last, _)) = page.last() else { return Ok(lines) };
            from = last + 1;
            lines.extend(page.into_iter().map(|(_, line)| line));
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the form of a function for `map_err`")]
fn failed(error: StoreError) -> JournalError {
    JournalError::new(error.to_string())
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
