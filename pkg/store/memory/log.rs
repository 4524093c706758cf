//! The event log in memory.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard},
};

use futures_core::stream::BoxStream;

use super::{
    locks::{lock, ready},
    log_reader::{LogFollower, LogReader},
    log_table::LogTable,
    runs::RunTable,
    stored_log::{LogPhase, StoredLog},
};
use crate::{
    EventLog, LogInfo, LogKey, LogPage, LogRecord, Retention, RunWriter, StoreError, StoreFuture,
};

/// Maximum size of all records together, in bytes.
const MAX_BYTES: usize = 512 << 20;

/// Maximum number of names of retired logs.
const MAX_RETIRED: usize = 100_000;

/// An event log in memory, for a single process: the data is lost with the process. It holds at most 512 MiB; beyond that, it retires the logs that were
/// closed first in the scope with the largest closed logs. If there are none, records are refused. Only the log of [`Stores::in_memory`](crate::Stores::in_memory)
/// knows who owns a run.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::store::{EventLog, StoreError, LogKey, LogRecord, InMemoryLog};
///
/// let (log, key) = (InMemoryLog::new(), LogKey::new("team-a", "run_1"));
/// log.create(key.clone()).await?;
/// log.append(&key, 0, vec![LogRecord::new("turn_end", "{}")], None).await?;
/// assert_eq!(log.read(&key, 0, 10).await?.next, 1);
/// let other = LogKey::new("team-b", "run_1");
/// assert!(matches!(log.read(&other, 0, 10).await, Err(StoreError::NotFound { .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct InMemoryLog {
    logs: Arc<Mutex<LogTable>>,
    /// The runs, if they are in the same store.
    runs: Option<Arc<Mutex<RunTable>>>,
}

impl InMemoryLog {
    /// Returns an empty log.
    #[must_use]
    pub fn new() -> Self {
        Self::limited(MAX_BYTES, MAX_RETIRED)
    }

    pub(super) fn limited(max_bytes: usize, max_retired: usize) -> Self {
        let logs = Arc::new(Mutex::new(LogTable::limited(max_bytes, max_retired)));
        Self { logs, runs: None }
    }

    /// Returns an empty log of these runs.
    pub(super) fn beside(runs: &Arc<Mutex<RunTable>>) -> Self {
        Self { runs: Some(Arc::clone(runs)), ..Self::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, LogTable> {
        lock(&self.logs)
    }

    fn reading(&self, key: &LogKey) -> Result<LogReader, StoreError> {
        Ok(LogReader::of(self.lock().get(key)?))
    }

    /// Writes a log; no claim of its run comes in between.
    fn write<T>(
        &self,
        key: &LogKey,
        writer: Option<&RunWriter>,
        write: impl FnOnce(&mut LogTable) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let runs = self.runs.as_ref().filter(|_| writer.is_some()).map(|runs| lock(runs));
        let mut logs = self.lock();
        lock(logs.get(key)?).check(key)?;
        writer.map_or(Ok(()), |writer| writer.check_log(key))?;
        runs.as_ref().map_or(Ok(()), |runs| runs.check_writer(writer))?;
        write(&mut logs)
    }

    /// Appends; the common locks are not held while readers are woken.
    fn add(
        &self,
        key: &LogKey,
        at: u64,
        records: Vec<LogRecord>,
        writer: Option<&RunWriter>,
    ) -> Result<(), StoreError> {
        let log = self.write(key, writer, |logs| logs.append(key, at, records))?;
        lock(&log).readers.wake();
        Ok(())
    }
}

impl Default for InMemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

impl EventLog for InMemoryLog {
    fn create(&self, key: LogKey) -> StoreFuture<'_, ()> {
        let mut logs = self.lock();
        if logs.all.contains_key(&key) {
            return ready(Err(StoreError::log_exists(&key)));
        }
        logs.all.insert(key, Arc::new(Mutex::new(StoredLog::new())));
        ready(Ok(()))
    }

    fn append<'a>(
        &'a self,
        key: &'a LogKey,
        at: u64,
        records: Vec<LogRecord>,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()> {
        ready(self.add(key, at, records, writer))
    }

    fn close<'a>(&'a self, key: &'a LogKey, writer: Option<&'a RunWriter>) -> StoreFuture<'a, ()> {
        ready(self.write(key, writer, |logs| logs.close(key)))
    }

    fn read<'a>(&'a self, key: &'a LogKey, from: u64, most: usize) -> StoreFuture<'a, LogPage> {
        ready(self.lock().get(key).and_then(|log| lock(log).read(key, from, most)))
    }

    fn wait<'a>(&'a self, key: &'a LogKey, from: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let reading = self.reading(key)?;
            let has_more = |log: &StoredLog| match log.check(key) {
                Ok(()) if log.end() > from || log.state == LogPhase::Closed => Some(Ok(())),
                Ok(()) => None,
                Err(error) => Some(Err(error)),
            };
            poll_fn(|context| reading.poll(context, has_more)).await
        })
    }

    fn follow(
        self: Arc<Self>,
        key: LogKey,
        from: u64,
    ) -> BoxStream<'static, Result<(u64, LogRecord), StoreError>> {
        let reading = Some(self.reading(&key));
        Box::pin(LogFollower { reading, key, at: from, read: VecDeque::new() })
    }

    fn retire<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        ready(self.lock().retire(key))
    }

    fn remove<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        ready(self.lock().remove(key))
    }

    fn trim<'a>(&'a self, key: &'a LogKey, before: u64) -> StoreFuture<'a, ()> {
        ready(self.lock().trim(key, before))
    }

    fn touch<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()> {
        ready(self.lock().touch(key))
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a LogKey>,
        most: usize,
    ) -> StoreFuture<'a, Vec<LogInfo>> {
        ready(Ok(self.lock().list(prefix, after, most)))
    }

    fn sweep(&self, keep: Retention) -> StoreFuture<'_, u64> {
        ready(self.lock().sweep(keep))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// The bytes of one of [`records`].
    const SIZE: usize = size_of::<LogRecord>() + 8;

    fn records(count: usize) -> Vec<LogRecord> {
        vec![LogRecord::new("kind", "1234"); count]
    }

    #[tokio::test]
    async fn a_log_has_no_gap_and_one_writer() {
        let (log, key) = (InMemoryLog::new(), LogKey::new("a", "run"));
        assert!(matches!(log.read(&key, 0, 1).await, Err(StoreError::NotFound { .. })));
        log.create(key.clone()).await.unwrap();
        assert!(matches!(log.create(key.clone()).await, Err(StoreError::Exists { .. })));
        log.append(&key, 0, records(3), None).await.unwrap();
        for at in [0, 2, 4] {
            let other = log.append(&key, at, records(1), None).await.unwrap_err();
            assert!(matches!(other, StoreError::Behind { end: 3, .. }), "{other}");
        }
        assert_eq!(log.read(&key, 1, 1).await.unwrap(), LogPage::new(records(1), 2, false));
        assert_eq!(log.read(&key, 3, 9).await.unwrap(), LogPage::new(records(0), 3, false));
        assert!(matches!(log.read(&key, 4, 9).await, Err(StoreError::Behind { end: 3, .. })));
        log.close(&key, None).await.unwrap();
        log.close(&key, None).await.unwrap();
        assert!(log.read(&key, 3, 9).await.unwrap().is_end);
        assert!(matches!(
            log.append(&key, 3, records(1), None).await,
            Err(StoreError::Ended { .. })
        ));
        log.retire(&key).await.unwrap();
        log.retire(&key).await.unwrap();
        assert!(matches!(log.read(&key, 0, 9).await, Err(StoreError::Retired { .. })));
        assert!(matches!(log.create(key).await, Err(StoreError::Exists { .. })), "its name stays");
    }

    #[tokio::test]
    async fn a_wait_ends_with_a_record_the_close_and_the_end_of_the_records() {
        for step in 0..3 {
            let (log, key) = (InMemoryLog::new(), LogKey::new("a", "run"));
            log.create(key.clone()).await.unwrap();
            log.append(&key, 0, records(1), None).await.unwrap();
            assert_eq!(log.wait(&key, 0).now_or_never(), Some(Ok(())));
            let mut waits = log.wait(&key, 1);
            assert!((&mut waits).now_or_never().is_none());
            match step {
                0 => log.append(&key, 1, records(1), None).await.unwrap(),
                1 => log.close(&key, None).await.unwrap(),
                _ => log.retire(&key).await.unwrap(),
            }
            let ended = waits.now_or_never().unwrap();
            assert_eq!(ended.is_ok(), step < 2, "{ended:?}");
        }
    }

    #[tokio::test]
    async fn what_is_too_much_is_refused_and_what_is_dropped_makes_room() {
        let (log, one, other) =
            (InMemoryLog::limited(SIZE * 5 / 2, 9), LogKey::new("a", "1"), LogKey::new("a", "2"));
        for key in [&one, &other] {
            log.create(key.clone()).await.unwrap();
        }
        log.append(&one, 0, records(2), None).await.unwrap();
        let full = log.append(&other, 0, records(1), None).await.unwrap_err();
        let words = format!("{} of {} bytes", SIZE * 2, SIZE * 5 / 2);
        assert!(full.to_string().contains(&words), "{full}");
        log.retire(&one).await.unwrap();
        log.append(&other, 0, records(2), None).await.unwrap();
    }

    #[tokio::test]
    async fn a_full_log_drops_what_was_closed_first_and_never_what_is_open() {
        let log = InMemoryLog::limited(SIZE * 5, 2);
        let key = |at: usize| LogKey::new("a", at.to_string());
        for at in 0..40 {
            log.create(key(at)).await.unwrap();
            log.append(&key(at), 0, records(1), None).await.unwrap();
            if at > 0 {
                log.close(&key(at), None).await.unwrap();
            }
        }
        assert_eq!(log.read(&key(0), 0, 9).await.unwrap().records, records(1), "it is open");
        let is_there = |at: usize| log.read(&key(at), 0, 9).now_or_never().unwrap();
        assert!((36..40).all(|at| is_there(at).is_ok()));
        assert!((34..36).all(|at| matches!(is_there(at), Err(StoreError::Retired { .. }))));
        assert!((1..34).all(|at| matches!(is_there(at), Err(StoreError::NotFound { .. }))));
        assert_eq!(log.lock().all.len(), 7, "names have a bound");
        log.append(&key(0), 1, records(4), None).await.unwrap();
        assert!(
            log.append(&key(0), 5, records(1), None).await.is_err(),
            "none is left to be dropped"
        );
    }

    #[tokio::test]
    async fn a_scope_that_fills_the_log_loses_its_own_closed_logs() {
        let log = InMemoryLog::limited(SIZE * 10, 9);
        let few = LogKey::new("few", "1");
        let ended = async |key: LogKey, count: usize| {
            log.create(key.clone()).await.unwrap();
            log.append(&key, 0, records(count), None).await.unwrap();
            log.close(&key, None).await.unwrap();
        };
        ended(few.clone(), 2).await;
        for at in 0..20 {
            ended(LogKey::new("many", at.to_string()), 3).await;
        }
        assert_eq!(log.read(&few, 0, 9).await.unwrap().next, 2, "that of another scope stays");
        assert!(log.read(&LogKey::new("many", "18"), 0, 9).await.is_ok());
        assert_eq!(log.lock().closed_bytes.all(), SIZE * 8);
        log.retire(&few).await.unwrap();
        assert!(log.lock().closed_bytes.of("few") == 0);
    }

    #[tokio::test]
    async fn a_sweep_drops_what_is_old_or_too_much() {
        let log = InMemoryLog::new();
        let key = |at: usize| LogKey::new("a", at.to_string());
        for at in 0..4 {
            log.create(key(at)).await.unwrap();
            log.append(&key(at), 0, records(1), None).await.unwrap();
            log.close(&key(at), None).await.unwrap();
        }
        assert_eq!(log.sweep(Retention::all()).await, Ok(0));
        // What is open does not count: nothing of it would go.
        log.create(key(9)).await.unwrap();
        log.append(&key(9), 0, records(9), None).await.unwrap();
        let much = Retention { max_bytes: Some(SIZE as u64 * 3), ..Retention::all() };
        assert_eq!(log.sweep(much).await, Ok(1));
        assert!(log.read(&key(0), 0, 1).await.is_err() && log.read(&key(1), 0, 1).await.is_ok());
        let old = Retention { closed_before_ms: Some(u64::MAX), ..Retention::all() };
        assert_eq!(log.sweep(old).await, Ok(3));
        assert_eq!(log.sweep(Retention { max_retired: 1, ..old }).await, Ok(0));
        assert!(matches!(log.read(&key(2), 0, 1).await, Err(StoreError::NotFound { .. })));
        assert!(matches!(log.read(&key(3), 0, 1).await, Err(StoreError::Retired { .. })));
    }
}
