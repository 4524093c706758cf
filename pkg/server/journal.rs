//! The journal of a conversation, in the store of conversations.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
};

use serde::Deserialize;
use tokio::sync::{Mutex, watch};

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
pub(super) struct Told(watch::Sender<HashMap<Text, u64>>);

impl Told {
    pub(super) fn set(&self, run: &str, events: u64) {
        self.0.send_modify(|told| match told.get_mut(run) {
            Some(told) => *told = events,
            None => drop(told.insert(run.into(), events)),
        });
    }

    pub(super) fn end(&self, run: &str) {
        self.0.send_modify(|told| {
            told.remove(&Text::from(run));
        });
    }

    /// Waits until this number of events of a run is in its log, or it has none.
    async fn wait(&self, run: &Text, events: u64) {
        let mut told = self.0.subscribe();
        // The sender is here.
        drop(told.wait_for(|told| told.get(run).is_none_or(|told| *told >= events)).await);
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
