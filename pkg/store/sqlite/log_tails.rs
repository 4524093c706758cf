//! The newest records of growing logs, for readers that wait for the next one.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::{LogKey, LogPage, LogRecord};

/// Maximum number of records of a log kept in memory.
const MAX_RECORDS: usize = 256;

/// Maximum size of all of them together, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// Maximum number of logs kept here.
const MAX_LOGS: usize = 4_096;

/// The tails of logs that grow or are waited for.
#[derive(Default)]
pub(super) struct LogTails(Mutex<TailTable>);

#[derive(Default)]
struct TailTable {
    logs: HashMap<LogKey, LogTail>,
    bytes: usize,
    /// The number of changes so far.
    changes: u64,
}

#[derive(Default)]
struct LogTail {
    /// The number of the first record, and the records; empty if nothing is known.
    first: u64,
    records: VecDeque<LogRecord>,
    bytes: usize,
    changed_at: u64,
    changed: watch::Sender<()>,
}

impl LogTails {
    fn lock(&self) -> MutexGuard<'_, TailTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds committed records, and wakes the readers that wait for them.
    pub(super) fn add(&self, key: &LogKey, at: u64, records: &[LogRecord]) {
        let mut all = self.lock();
        all.changes += 1;
        let changes = all.changes;
        let tail = all.logs.entry(key.clone()).or_default();
        let before = tail.bytes;
        if tail.first + tail.records.len() as u64 != at {
            tail.clear();
        }
        if tail.records.is_empty() {
            tail.first = at;
        }
        for record in records {
            tail.bytes += size(record);
            tail.records.push_back(record.clone());
        }
        while tail.records.len() > MAX_RECORDS
            && let Some(oldest) = tail.records.pop_front()
        {
            tail.bytes -= size(&oldest);
            tail.first += 1;
        }
        tail.changed_at = changes;
        let (after, wakes) = (tail.bytes, tail.changed.clone());
        all.bytes = all.bytes + after - before;
        all.shrink();
        // The readers look at once, and must not wait for this lock.
        drop(all);
        wakes.send_replace(());
    }

    /// Forgets a log that was closed or retired, and wakes the readers that wait for it.
    pub(super) fn end(&self, key: &LogKey) {
        let mut all = self.lock();
        if let Some(tail) = all.logs.remove(key) {
            all.bytes -= tail.bytes;
            tail.changed.send_replace(());
        }
    }

    /// Reads records of an open log, if they are kept here.
    pub(super) fn read(&self, key: &LogKey, from: u64, most: usize) -> Option<LogPage> {
        let mut records = Vec::new();
        let count = self.take(key, from, most, &mut records).filter(|count| *count > 0)?;
        Some(LogPage::new(records, from + count as u64, false))
    }

    /// Adds records of an open log to a buffer. Returns their number, 0 if the next one does not exist yet, or `None` if that is not known here.
    pub(super) fn take(
        &self,
        key: &LogKey,
        from: u64,
        most: usize,
        into: &mut impl Extend<LogRecord>,
    ) -> Option<usize> {
        let all = self.lock();
        let tail = all.logs.get(key).filter(|tail| !tail.records.is_empty())?;
        let skipped = usize::try_from(from.checked_sub(tail.first)?).ok()?;
        let count = tail.records.len().checked_sub(skipped)?.min(most);
        into.extend(tail.records.iter().skip(skipped).take(count).cloned());
        Some(count)
    }

    /// Returns `true` if an open log has this record, `false` if the record is the next one, and `None` if that is not known here.
    pub(super) fn has(&self, key: &LogKey, from: u64) -> Option<bool> {
        let all = self.lock();
        let tail = all.logs.get(key).filter(|tail| !tail.records.is_empty())?;
        let end = tail.first + tail.records.len() as u64;
        (from <= end).then_some(from < end)
    }

    /// Returns a subscription to the changes of a log.
    pub(super) fn subscribe(self: &Arc<Self>, key: &LogKey) -> TailSubscription {
        let changed = self.lock().logs.entry(key.clone()).or_default().changed.subscribe();
        TailSubscription { tails: Arc::clone(self), key: key.clone(), changed }
    }
}

impl TailTable {
    /// Drops the records of the logs that have been quiet the longest, until half of the capacity is free.
    fn shrink(&mut self) {
        if self.bytes <= MAX_BYTES && self.logs.len() <= MAX_LOGS {
            return;
        }
        let mut by_age: Vec<_> =
            self.logs.iter().map(|(key, tail)| (tail.changed_at, key.clone())).collect();
        by_age.sort_unstable_by_key(|(changed_at, _)| *changed_at);
        for (_, key) in by_age {
            if self.bytes <= MAX_BYTES / 2 && self.logs.len() <= MAX_LOGS / 2 {
                break;
            }
            let Some(tail) = self.logs.get_mut(&key) else { continue };
            self.bytes -= tail.bytes;
            tail.clear();
            if tail.changed.receiver_count() == 0 {
                self.logs.remove(&key);
            }
        }
    }
}

impl LogTail {
    fn clear(&mut self) {
        (self.bytes, self.first) = (0, 0);
        self.records.clear();
    }
}

fn size(record: &LogRecord) -> usize {
    record.kind.len() + record.data.len()
}

/// A subscription to the changes of a log.
pub(super) struct TailSubscription {
    tails: Arc<LogTails>,
    key: LogKey,
    changed: watch::Receiver<()>,
}

impl TailSubscription {
    /// Waits for the next change.
    pub(super) async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            // The log was closed or forgotten in the meantime.
            let again = self.tails.subscribe(&self.key);
            self.changed = again.changed.clone();
        }
    }
}

impl Drop for TailSubscription {
    fn drop(&mut self) {
        let mut all = self.tails.lock();
        let is_idle =
            |tail: &LogTail| tail.records.is_empty() && tail.changed.receiver_count() <= 1;
        if all.logs.get(&self.key).is_some_and(is_idle) {
            all.logs.remove(&self.key);
        }
    }
}
