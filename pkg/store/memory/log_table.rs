//! All logs in memory, with their common limits.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use super::{
    locks::lock,
    scopes::ScopeTotals,
    stored_log::{LogPhase, StoredLog},
};
use crate::{
    LogInfo, LogKey, LogRecord, Retention, StoreError, ids::now_ms, stores::erase::RUNS_OF,
};
use forgeline_types::Text;

/// Maximum size of all logs that list the runs of an owner, in bytes; these logs are never closed.
const MAX_OWNED_BYTES: usize = 64 << 20;

/// Maximum number of these logs.
const MAX_OWNERS: usize = 10_000;

/// Fraction of their bytes that may be added before they are counted again.
const SLACK: usize = 64;

/// The logs that list the runs of an owner, least recently used first.
#[derive(Debug, Default)]
struct OwnerLogs {
    order: VecDeque<LogKey>,
    /// The bytes added since they were last counted.
    since: usize,
}

/// The logs of a [`InMemoryLog`](crate::InMemoryLog).
#[derive(Debug)]
pub(super) struct LogTable {
    /// Each log has a lock of its own, taken after the common one.
    pub(super) all: HashMap<LogKey, Arc<Mutex<StoredLog>>>,
    /// The closed logs with their closing times, in the order in which they were closed.
    closed: VecDeque<(u64, LogKey)>,
    /// The retired logs, in the order in which they were retired.
    retired: VecDeque<LogKey>,
    pub(super) bytes: usize,
    /// The bytes of the closed logs among them.
    pub(super) closed_bytes: ScopeTotals,
    owned: OwnerLogs,
    max_bytes: usize,
    max_retired: usize,
}

impl LogTable {
    pub(super) fn limited(max_bytes: usize, max_retired: usize) -> Self {
        Self {
            all: HashMap::new(),
            closed: VecDeque::new(),
            retired: VecDeque::new(),
            bytes: 0,
            closed_bytes: ScopeTotals::default(),
            owned: OwnerLogs::default(),
            max_bytes,
            max_retired,
        }
    }

    /// Returns an existing log.
    pub(super) fn get(&self, key: &LogKey) -> Result<&Arc<Mutex<StoredLog>>, StoreError> {
        self.all.get(key).ok_or_else(|| StoreError::no_log(key))
    }

    /// Appends to a log, and returns the log.
    pub(super) fn append(
        &mut self,
        key: &LogKey,
        at: u64,
        records: Vec<LogRecord>,
    ) -> Result<Arc<Mutex<StoredLog>>, StoreError> {
        let bytes: usize = records.iter().map(LogRecord::bytes).sum();
        if self.bytes.saturating_add(bytes) > self.max_bytes {
            lock(self.get(key)?).check_end(key, at)?;
            self.make_room(bytes)?;
        }
        let log = Arc::clone(self.get(key)?);
        {
            let mut log = lock(&log);
            log.check_end(key, at)?;
            log.records.extend(records);
            log.bytes += bytes;
        }
        self.bytes += bytes;
        self.note(key, bytes);
        Ok(log)
    }

    pub(super) fn close(&mut self, key: &LogKey) -> Result<(), StoreError> {
        let mut log = lock(self.get(key)?);
        log.check(key)?;
        let (is_new, bytes) = (log.state == LogPhase::Open, log.bytes);
        if is_new {
            log.change(LogPhase::Closed);
        }
        drop(log);
        if is_new {
            self.closed_bytes.add(&key.scope, bytes);
            self.closed.push_back((now_ms(), key.clone()));
        }
        Ok(())
    }

    pub(super) fn trim(&mut self, key: &LogKey, before: u64) -> Result<(), StoreError> {
        let mut log = lock(self.get(key)?);
        let bytes = log.trim(key, before)?;
        let is_closed = log.state == LogPhase::Closed;
        drop(log);
        self.drop_bytes(&key.scope, bytes, is_closed);
        Ok(())
    }

    pub(super) fn touch(&mut self, key: &LogKey) -> Result<(), StoreError> {
        let mut log = lock(self.get(key)?);
        log.check(key)?;
        log.used_ms = now_ms();
        let is_closed = log.state == LogPhase::Closed;
        drop(log);
        if is_closed {
            self.closed.retain(|(_, closed)| closed != key);
            self.closed.push_back((now_ms(), key.clone()));
        }
        Ok(())
    }

    pub(super) fn list(&self, prefix: &str, after: Option<&LogKey>, most: usize) -> Vec<LogInfo> {
        let is_asked =
            |key: &LogKey| key.name.starts_with(prefix) && after.is_none_or(|after| key > after);
        let mut found: Vec<_> = self.all.iter().filter(|(key, _)| is_asked(key)).collect();
        found.sort_unstable_by_key(|(key, _)| *key);
        let info = |(key, log): (&LogKey, &Arc<Mutex<StoredLog>>)| {
            let log = lock(log);
            let info = || LogInfo::new(key.clone(), log.end(), log.bytes as u64, log.used_ms);
            log.check(key).is_ok().then(info)
        };
        found.into_iter().filter_map(info).take(most).collect()
    }

    /// Retires closed logs until there is room for `bytes` more: the oldest ones of the scope whose closed logs are largest.
    fn make_room(&mut self, bytes: usize) -> Result<(), StoreError> {
        while self.bytes.saturating_add(bytes) > self.max_bytes {
            let largest = self.closed_bytes.largest();
            let is_its = |key: &LogKey| largest.is_some_and(|scope| key.scope == *scope);
            let oldest = self.closed.iter().find(|(_, key)| is_its(key)).or(self.closed.front());
            let Some((_, oldest)) = oldest.cloned() else {
                let (used, most) = (self.bytes, self.max_bytes);
                let reason =
                    format!("it holds {used} of {most} bytes, and {bytes} more do not fit");
                return Err(StoreError::Full { reason });
            };
            self.retire(&oldest)?;
        }
        Ok(())
    }

    /// Subtracts dropped bytes from the totals.
    fn drop_bytes(&mut self, scope: &Text, bytes: usize, is_closed: bool) {
        self.bytes -= bytes;
        if is_closed {
            self.closed_bytes.subtract(scope, bytes);
        }
    }

    pub(super) fn retire(&mut self, key: &LogKey) -> Result<(), StoreError> {
        let mut log = lock(self.get(key)?);
        if log.state == LogPhase::Retired {
            return Ok(());
        }
        let is_closed = log.state == LogPhase::Closed;
        let bytes = log.change(LogPhase::Retired);
        drop(log);
        self.drop_bytes(&key.scope, bytes, is_closed);
        if self.closed.front().is_some_and(|(_, oldest)| oldest == key) {
            self.closed.pop_front();
        } else {
            self.closed.retain(|(_, closed)| closed != key);
        }
        self.retired.push_back(key.clone());
        self.forget(self.max_retired);
        Ok(())
    }

    pub(super) fn remove(&mut self, key: &LogKey) -> Result<(), StoreError> {
        let log = self.all.remove(key).ok_or_else(|| StoreError::no_log(key))?;
        let mut log = lock(&log);
        let is_closed = log.state == LogPhase::Closed;
        let bytes = log.change(LogPhase::Removed);
        drop(log);
        self.drop_bytes(&key.scope, bytes, is_closed);
        self.closed.retain(|(_, closed)| closed != key);
        self.retired.retain(|retired| retired != key);
        Ok(())
    }

    /// Forgets the oldest names beyond this number.
    fn forget(&mut self, most: usize) {
        while self.retired.len() > most {
            let Some(oldest) = self.retired.pop_front() else { break };
            self.all.remove(&oldest);
        }
    }

    pub(super) fn sweep(&mut self, keep: Retention) -> Result<u64, StoreError> {
        let mut count = 0;
        while let Some((closed_ms, oldest)) = self.closed.front().cloned() {
            let is_old = keep.closed_before_ms.is_some_and(|before| closed_ms < before);
            let is_much = keep.max_bytes.is_some_and(|most| self.closed_bytes.all() as u64 > most);
            if !is_old && !is_much {
                break;
            }
            self.retire(&oldest)?;
            count += 1;
        }
        self.forget(usize::try_from(keep.max_retired).unwrap_or(usize::MAX));
        Ok(count)
    }

    /// Counts the records of a log if it lists the runs of an owner. If these logs are too many or too large, drops the least recently used one that has
    /// no reader.
    fn note(&mut self, key: &LogKey, bytes: usize) {
        if !key.name.starts_with(RUNS_OF) {
            return;
        }
        self.owned.order.retain(|other| other != key);
        self.owned.order.push_back(key.clone());
        self.owned.since += bytes;
        let most = MAX_OWNED_BYTES.min(self.max_bytes / 8);
        while self.owned.order.len() > MAX_OWNERS && self.drop_owned(key).is_some() {}
        if self.owned.since < most / SLACK {
            return;
        }
        self.owned.since = 0;
        let logs = self.owned.order.iter().filter_map(|key| self.all.get(key));
        let mut taken: usize = logs.map(|log| lock(log).bytes).sum();
        while taken > most
            && let Some(bytes) = self.drop_owned(key)
        {
            taken -= bytes;
        }
    }

    /// Drops one of these logs, except `but`; returns its bytes.
    fn drop_owned(&mut self, but: &LogKey) -> Option<usize> {
        let is_idle = |key: &LogKey| {
            let has_reader = |log: &StoredLog| log.state == LogPhase::Open && log.readers.has_any();
            key != but && self.all.get(key).is_none_or(|log| !has_reader(&lock(log)))
        };
        let at = self.owned.order.iter().position(is_idle)?;
        let key = self.owned.order.remove(at)?;
        let bytes = self.all.get(&key).map_or(0, |log| lock(log).bytes);
        // A log that was erased is already gone.
        drop(self.remove(&key));
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::{EventLog as _, InMemoryLog, LogRecord, stores::erase::runs_of};

    async fn noted(log: &InMemoryLog, owner: &str, at: u64) {
        let (key, record) = (runs_of(&"a".into(), owner), LogRecord::new("run", vec![0; 1_000]));
        if at == 0 {
            log.create(key.clone()).await.unwrap();
        }
        log.append(&key, at, vec![record], None).await.unwrap();
    }

    #[tokio::test]
    async fn the_runs_of_owners_have_a_bound_that_those_who_come_and_read_do_not_meet() {
        let log = InMemoryLog::limited(1 << 20, 9);
        noted(&log, "first", 0).await;
        noted(&log, "reads", 0).await;
        let reads = runs_of(&"a".into(), "reads");
        let mut waits = log.wait(&reads, 1);
        assert!((&mut waits).now_or_never().is_none());
        noted(&log, "comes", 0).await;
        for at in 0..1_000 {
            noted(&log, &format!("{at}"), 0).await;
            noted(&log, "comes", at + 1).await;
            log.trim(&runs_of(&"a".into(), "comes"), at).await.unwrap();
        }
        let bytes = log.lock().bytes;
        assert!((100_000..=133_000).contains(&bytes), "{bytes}");
        let is_there = |owner: &str| {
            let read = log.read(&runs_of(&"a".into(), owner), u64::MAX, 1).now_or_never().unwrap();
            !matches!(read, Err(StoreError::NotFound { .. }))
        };
        assert!(!is_there("first") && is_there("reads") && is_there("comes") && is_there("999"));
        // A run finds its room.
        log.create(LogKey::new("a", "run")).await.unwrap();
        let record = LogRecord::new("event", vec![0; 800_000]);
        log.append(&LogKey::new("a", "run"), 0, vec![record], None).await.unwrap();
    }

    #[tokio::test]
    async fn owners_have_a_bound_of_their_number() {
        let log = InMemoryLog::new();
        for at in 0..MAX_OWNERS + 5 {
            noted(&log, &format!("{at}"), 0).await;
        }
        assert_eq!(log.lock().all.len(), MAX_OWNERS);
    }
}
