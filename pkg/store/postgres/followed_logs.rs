//! The logs that readers of this process follow, with their newest records.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::{LogKey, LogRecord};

/// Maximum number of records of a log kept in memory.
const MAX_RECORDS: usize = 256;

/// Maximum size of all of them together, in bytes. Beyond it, readers read from the database.
const MAX_BYTES: usize = 64 << 20;

/// The logs that are followed. Others take no memory.
#[derive(Default)]
pub(super) struct FollowedLogs(Mutex<FollowedTable>);

#[derive(Default)]
struct FollowedTable {
    logs: HashMap<LogKey, FollowedLog>,
    keys: HashMap<i64, LogKey>,
    bytes: usize,
    /// The number of notifications of logs whose number was not known here.
    strays: u64,
}

#[derive(Default)]
struct FollowedLog {
    /// The number of the log in the database, once it was read.
    no: Option<i64>,
    /// The number of the first record kept here, and the records; a reader that needs another one reads the database.
    first: u64,
    records: VecDeque<LogRecord>,
    bytes: usize,
    /// The highest end that was seen.
    head: u64,
    readers: usize,
    changed: watch::Sender<()>,
}

impl FollowedLog {
    /// Forgets the records, and returns their size.
    fn clear(&mut self) -> usize {
        self.records.clear();
        std::mem::take(&mut self.bytes)
    }
}

impl FollowedLogs {
    fn lock(&self) -> MutexGuard<'_, FollowedTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to follow a log.
    pub(super) fn subscribe(self: &Arc<Self>, key: &LogKey) -> LogSubscription {
        let mut table = self.lock();
        let strays = table.strays;
        let log = table.logs.entry(key.clone()).or_default();
        log.readers += 1;
        let changed = log.changed.subscribe();
        LogSubscription { logs: Arc::clone(self), key: key.clone(), strays, changed }
    }

    /// Adds committed records, and wakes the readers.
    pub(super) fn add(&self, key: &LogKey, at: u64, records: &[LogRecord]) {
        let mut table = self.lock();
        let Some(log) = table.logs.get_mut(key) else { return };
        let before = log.bytes;
        if log.first + log.records.len() as u64 != at {
            log.clear();
        }
        if log.records.is_empty() {
            log.first = at;
        }
        for record in records {
            log.bytes += record.bytes();
            log.records.push_back(record.clone());
        }
        while log.records.len() > MAX_RECORDS
            && let Some(oldest) = log.records.pop_front()
        {
            log.bytes -= oldest.bytes();
            log.first += 1;
        }
        log.head = log.head.max(at + records.len() as u64);
        let (after, wakes) = (log.bytes, log.changed.clone());
        table.bytes = table.bytes + after - before;
        if table.bytes > MAX_BYTES {
            table.bytes = 0;
            for log in table.logs.values_mut() {
                log.clear();
            }
        }
        // The readers look at once, and must not wait for this lock.
        drop(table);
        wakes.send_replace(());
    }

    /// Forgets the records of a log that was closed, trimmed, retired or removed, and wakes its readers.
    pub(super) fn end(&self, key: &LogKey) {
        let mut table = self.lock();
        let Some(log) = table.logs.get_mut(key) else { return };
        let (freed, wakes) = (log.clear(), log.changed.clone());
        table.bytes -= freed;
        drop(table);
        wakes.send_replace(());
    }

    /// Forgets what the database has not, after a fail-over to a server that lacked the newest records, and wakes the readers.
    pub(super) fn shrink(&self, no: i64, head: u64) {
        let mut table = self.lock();
        let Some(key) = table.keys.get(&no).cloned() else { return };
        let Some(log) = table.logs.get_mut(&key).filter(|log| log.head > head) else { return };
        log.head = head;
        drop(table);
        self.end(&key);
    }

    /// Wakes the readers of all logs.
    pub(super) fn wake_all(&self) {
        for log in self.lock().logs.values() {
            log.changed.send_replace(());
        }
    }

    /// Returns the key of a log if it is followed and may have a record before `head` that was not seen.
    pub(super) fn behind(&self, no: i64, head: u64) -> Option<(LogKey, u64)> {
        let mut table = self.lock();
        let Some(key) = table.keys.get(&no).cloned() else {
            table.strays += 1;
            return None;
        };
        let seen = table.logs.get(&key)?.head;
        (seen < head).then_some((key, seen))
    }

    /// Returns the key of a log if it is followed.
    pub(super) fn key(&self, no: i64) -> Option<LogKey> {
        let mut table = self.lock();
        let key = table.keys.get(&no).cloned();
        table.strays += u64::from(key.is_none());
        key
    }

    /// Returns the numbers of the logs that are followed, with the ends that were seen.
    pub(super) fn ends(&self) -> Vec<(i64, u64)> {
        let table = self.lock();
        let end = |key| table.logs.get(key).map_or(0, |log| log.head);
        table.keys.iter().map(|(no, key)| (*no, end(key))).collect()
    }

    /// Adds records of an open log to a buffer. Returns their number, 0 if the next one does not exist yet, or `None` if that is not known here.
    fn take(
        &self,
        key: &LogKey,
        from: u64,
        most: usize,
        into: &mut impl Extend<LogRecord>,
    ) -> Option<usize> {
        let table = self.lock();
        let log = table.logs.get(key).filter(|log| !log.records.is_empty())?;
        let skipped = usize::try_from(from.checked_sub(log.first)?).ok()?;
        let count = log.records.len().checked_sub(skipped)?.min(most);
        if count == 0 && from < log.head {
            // Older records came in last, in place of newer ones.
            return None;
        }
        into.extend(log.records.iter().skip(skipped).take(count).cloned());
        Some(count)
    }
}

/// A subscription to the changes of a log. Changes since the last wait end the next one at once.
pub(super) struct LogSubscription {
    logs: Arc<FollowedLogs>,
    key: LogKey,
    strays: u64,
    changed: watch::Receiver<()>,
}

impl LogSubscription {
    /// Records the number and the end of the log, which were read from the database.
    pub(super) fn read(&self, no: i64, head: u64) {
        let mut table = self.logs.lock();
        let may_have_missed = table.strays != self.strays;
        let Some(log) = table.logs.get_mut(&self.key) else { return };
        log.head = log.head.max(head);
        if log.no == Some(no) {
            return;
        }
        let (earlier, wakes) = (log.no.replace(no), log.changed.clone());
        if let Some(earlier) = earlier {
            table.keys.remove(&earlier);
        }
        table.keys.insert(no, self.key.clone());
        drop(table);
        if may_have_missed {
            wakes.send_replace(());
        }
    }

    /// Adds records that are kept in memory to a buffer, as [`FollowedLogs::take`] does.
    pub(super) fn take(
        &self,
        from: u64,
        most: usize,
        into: &mut impl Extend<LogRecord>,
    ) -> Option<usize> {
        self.logs.take(&self.key, from, most, into)
    }

    /// Waits for the next change. Cancel safe.
    pub(super) async fn changed(&mut self) {
        // The sender lives as long as a subscription does.
        drop(self.changed.changed().await);
    }
}

impl Drop for LogSubscription {
    fn drop(&mut self) {
        let mut table = self.logs.lock();
        let Some(log) = table.logs.get_mut(&self.key) else { return };
        log.readers -= 1;
        if log.readers == 0 {
            let (no, bytes) = (log.no, log.bytes);
            table.logs.remove(&self.key);
            table.bytes -= bytes;
            if let Some(no) = no {
                table.keys.remove(&no);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(count: usize) -> Vec<LogRecord> {
        vec![LogRecord::new("kind", "{}"); count]
    }

    #[test]
    fn records_that_the_database_has_lost_are_not_kept() {
        let (logs, key) = (Arc::new(FollowedLogs::default()), LogKey::new("team-a", "run_1"));
        let reader = logs.subscribe(&key);
        reader.read(1, 0);
        logs.add(&key, 0, &records(9));
        logs.shrink(1, 9);
        let mut read = Vec::new();
        assert_eq!(reader.take(0, 9, &mut read), Some(9), "none is lost");
        logs.shrink(1, 4);
        assert_eq!(reader.take(0, 9, &mut read), None, "it is read from the database");
        assert_eq!(logs.behind(1, 5), Some((key, 4)), "what comes instead is new");
    }

    /// A node that takes a run over appends while the listener still reads what the earlier owner wrote.
    #[test]
    fn a_reader_does_not_wait_for_a_record_that_older_ones_replaced() {
        let (logs, key) = (Arc::new(FollowedLogs::default()), LogKey::new("team-a", "run_1"));
        let reader = logs.subscribe(&key);
        logs.add(&key, 8, &records(2));
        let mut read = Vec::new();
        assert_eq!(reader.take(8, 9, &mut read), Some(2));
        assert_eq!(reader.take(10, 9, &mut read), Some(0), "the next one does not exist yet");
        logs.add(&key, 5, &records(3));
        assert_eq!(reader.take(5, 9, &mut read), Some(3));
        assert_eq!(reader.take(8, 9, &mut read), None, "it is read from the database");
        logs.add(&key, 10, &records(1));
        assert_eq!(reader.take(10, 9, &mut read), Some(1));
    }
}
