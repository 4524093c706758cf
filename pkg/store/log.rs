//! The event log, from which readers read the events of runs.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_core::stream::BoxStream;

use super::{LogKey, RunWriter, StoreError, StoreFuture, ids::now_ms};
use forgeline_types::{Text, setters};

/// Maximum number of records that a follower reads at a time.
pub(super) const PAGE: usize = 256;

/// The event log: any number of logs, for runs and other streams. The records of each log have the numbers 0, 1, 2, and so on.
///
/// A record is in the log before a reader sees it, and never changes. A log is closed after its last record. It may be retired, which drops its records
/// and keeps its name. A store may pack the records of a closed log; they are read as before.
///
/// Every operation except [`wait`](Self::wait) completes within 10 s, if necessary with [`StoreError::Slow`].
///
/// # Cancel safety
///
/// If the future of an append is dropped, either all of its records are appended or none.
pub trait EventLog: Send + Sync + 'static {
    /// Creates an empty log.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Exists`] if there is a log with this name.
    fn create(&self, key: LogKey) -> StoreFuture<'_, ()>;

    /// Appends records, the first of which has the number `at`. The log of a run is written with the right to write the run, whose key is that of the log;
    /// other logs with `None`. An engine that does not have the run lets each writer in.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Fenced`] if the writer no longer owns the run; [`StoreError::Behind`] if the log does not end there: another writer was faster, or this one has lost records; [`StoreError::Ended`];
    /// [`StoreError::Full`] or [`StoreError::ReadOnly`], like every method that writes; or an error as for [`read`](Self::read).
    fn append<'a>(
        &'a self,
        key: &'a LogKey,
        at: u64,
        records: Vec<LogRecord>,
        writer: Option<&'a RunWriter>,
    ) -> StoreFuture<'a, ()>;

    /// Closes a log: nothing can follow its last record. Closing a log again changes nothing. The writer is that of [`append`](Self::append).
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Fenced`] if the writer no longer owns the run, or an error as for [`read`](Self::read).
    fn close<'a>(&'a self, key: &'a LogKey, writer: Option<&'a RunWriter>) -> StoreFuture<'a, ()>;

    /// Reads at most `most` records, from number `from` on; none if there are none yet.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`], [`StoreError::Retired`], [`StoreError::Behind`] if `from` is beyond the end, [`StoreError::Dropped`] if the record was
    /// [trimmed](Self::trim), or [`StoreError::Corrupt`].
    fn read<'a>(&'a self, key: &'a LogKey, from: u64, most: usize) -> StoreFuture<'a, LogPage>;

    /// Waits until the log has a record with number `from`, or is closed or retired.
    ///
    /// # Errors
    ///
    /// The same as for [`read`](Self::read).
    fn wait<'a>(&'a self, key: &'a LogKey, from: u64) -> StoreFuture<'a, ()>;

    /// Reads a log from number `from` on, each record with its number: the existing records, then new ones, without a gap. The stream ends after the last
    /// record of a closed log, or with an error as for [`read`](Self::read).
    ///
    /// The default implementation alternates `read` and [`wait`](Self::wait); a log that can wake its readers more cheaply overrides it. At most 256
    /// records are read ahead.
    fn follow(
        self: Arc<Self>,
        key: LogKey,
        from: u64,
    ) -> BoxStream<'static, Result<(u64, LogRecord), StoreError>> {
        Box::pin(async_stream::try_stream! {
            let mut at = from;
            loop {
                let page = self.read(&key, at, PAGE).await?;
                for record in page.records {
                    yield (at, record);
                    at += 1;
                }
                if page.is_end {
                    break;
                }
                if at == page.next {
                    self.wait(&key, at).await?;
                }
            }
        })
    }

    /// Drops the records of a log; its name remains taken.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`] if there is no such log.
    fn retire<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()>;

    /// Removes a log and its name, which becomes available again. Pending waits for the log end with [`StoreError::NotFound`].
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`] if there is no such log.
    fn remove<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()>;

    /// Drops the records before number `before`, or somewhat fewer: records that are stored together are dropped together. The others keep their numbers,
    /// and the log continues as before.
    ///
    /// # Errors
    ///
    /// The same as for [`read`](Self::read), and [`StoreError::Behind`] if `before` is beyond the end.
    fn trim<'a>(&'a self, key: &'a LogKey, before: u64) -> StoreFuture<'a, ()>;

    /// Records that a log is in use: [`LogInfo::used_ms`] becomes now, and a closed log counts as closed now.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`] or [`StoreError::Retired`].
    fn touch<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, ()>;

    /// Removes a log that was not used for this time: [`LogInfo::used_ms`] is that long ago, by the clock of the store. Returns `false`, and changes
    /// nothing, for a log that was used since.
    ///
    /// The default implementation uses the clock of this process, and a use between its two operations is missed; a log that several processes share
    /// overrides it.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`] or [`StoreError::Retired`].
    fn remove_unused<'a>(&'a self, key: &'a LogKey, unused: Duration) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let Some(info) = listed(self, key).await? else {
                return self.touch(key).await.map(|()| false);
            };
            let past = u128::from(now_ms().saturating_sub(info.used_ms));
            if past < unused.as_millis() {
                return Ok(false);
            }
            self.remove(key).await.map(|()| true)
        })
    }

    /// Returns the logs of all scopes whose names begin with `prefix`, ordered by key: at most `most`, after the key `after` if given. Retired logs are
    /// not included.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Unavailable`] if the log cannot be used.
    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a LogKey>,
        most: usize,
    ) -> StoreFuture<'a, Vec<LogInfo>>;

    /// Retires closed logs that are not to be kept, oldest first, packs closed logs, and forgets the oldest names of retired logs; returns the number of
    /// logs that it retired. Open logs are kept. The work is done in parts, so that others do not wait: call this periodically.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Unavailable`] if the log cannot be used.
    fn sweep(&self, keep: Retention) -> StoreFuture<'_, u64>;

    /// Returns the number of records that readers of this process got late, by a look of the store instead of a notification, since the store was opened.
    /// Default: 0, for a log that one process writes.
    fn late_records(&self) -> u64 {
        0
    }
}

/// Returns the information about one log; `None` if there is no such log, or it is retired.
///
/// # Errors
///
/// Returns [`StoreError::Unavailable`] if the log cannot be used.
pub async fn listed(
    log: &(impl EventLog + ?Sized),
    key: &LogKey,
) -> Result<Option<LogInfo>, StoreError> {
    // Only the name itself begins with the name and comes next after the name without its last character.
    let before = key.name.char_indices().next_back().and_then(|(at, _)| key.name.get(..at));
    let before = LogKey::new(key.scope.clone(), before.unwrap_or_default());
    let found = log.list(&key.name, Some(&before), 1).await?;
    Ok(found.into_iter().next().filter(|info| info.key == *key))
}

/// The retention of closed logs.
///
/// # Examples
///
/// ```
/// use forgeline::store::Retention;
///
/// let mut keep = Retention::all();
/// keep.max_bytes = Some(1 << 30);
/// assert_eq!(keep.closed_before_ms, None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// Logs that were closed before this time are retired, in milliseconds since the Unix epoch.
    pub closed_before_ms: Option<u64>,
    /// The oldest closed logs are retired while all closed logs together have more bytes than this. Open logs do not count: a sweep keeps them.
    pub max_bytes: Option<u64>,
    /// The maximum number of names of retired logs; beyond it, the oldest are forgotten and no longer found.
    pub max_retired: u64,
}

impl Retention {
    /// Keeps all logs, and the names of 100,000 retired ones.
    #[must_use]
    pub fn all() -> Self {
        Self { closed_before_ms: None, max_bytes: None, max_retired: 100_000 }
    }

    setters! {
        Retention:
        closed_before_ms(some u64),
        max_bytes(some u64),
        max_retired(u64),
    }
}

/// A record of a log.
///
/// # Examples
///
/// ```
/// use forgeline::store::LogRecord;
///
/// let record = LogRecord::new("turn_end", r#"{"type":"turn_end"}"#);
/// assert_eq!(record.kind, "turn_end");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogRecord {
    /// The kind: for an event, that of the event.
    pub kind: Text,
    /// The data: for an event, the envelope as JSON.
    pub data: Bytes,
}

impl LogRecord {
    /// Returns a record.
    #[must_use]
    pub fn new(kind: impl Into<Text>, data: impl Into<Bytes>) -> Self {
        Self { kind: kind.into(), data: data.into() }
    }

    /// Returns the size of the record in memory, in bytes: its kind, its data, and the record itself, which dominates for short ones.
    #[doc(hidden)]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.kind.len() + self.data.len()
    }
}

/// Information about a log, without its records.
///
/// # Examples
///
/// ```
/// use forgeline::store::{LogInfo, LogKey};
///
/// let info = LogInfo::new(LogKey::new("team-a", "run_1"), 3, 120, 1_000);
/// assert_eq!((info.end, info.bytes), (3, 120));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogInfo {
    /// The key of the log.
    pub key: LogKey,
    /// The number after its last record.
    pub end: u64,
    /// The size of the log in the store, in bytes.
    pub bytes: u64,
    /// The time at which the log was last created, closed or [touched](EventLog::touch), in milliseconds since the Unix epoch.
    pub used_ms: u64,
}

impl LogInfo {
    /// Returns the information about a log.
    #[must_use]
    pub fn new(key: LogKey, end: u64, bytes: u64, used_ms: u64) -> Self {
        Self { key, end, bytes, used_ms }
    }
}

/// A page of consecutive records of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogPage {
    /// The records.
    pub records: Vec<LogRecord>,
    /// The number after the last of them.
    pub next: u64,
    /// `true` if nothing follows, now or later.
    pub is_end: bool,
}

impl LogPage {
    /// Returns a page.
    #[must_use]
    pub fn new(records: Vec<LogRecord>, next: u64, is_end: bool) -> Self {
        Self { records, next, is_end }
    }
}

impl StoreError {
    /// Returns the error of a log that does not exist.
    pub(crate) fn no_log(key: &LogKey) -> Self {
        Self::NotFound { what: "log", name: key.name.clone() }
    }

    /// Returns the error of a log that already exists.
    pub(crate) fn log_exists(key: &LogKey) -> Self {
        Self::Exists { what: "log", name: key.name.clone() }
    }

    /// Returns the error of a log that is closed.
    pub(crate) fn log_closed(key: &LogKey) -> Self {
        Self::Ended { what: "log", name: key.name.clone() }
    }

    /// Returns the error of a log whose records were dropped.
    pub(crate) fn log_retired(key: &LogKey) -> Self {
        Self::Retired { name: key.name.clone() }
    }

    /// Returns the error of a log that does not end at `at`, or of a number beyond its end.
    pub(crate) fn log_behind(key: &LogKey, at: u64, end: u64) -> Self {
        Self::Behind { what: "log", name: key.name.clone(), at, end }
    }

    /// Returns the error of a log whose records before `first` were dropped.
    pub(crate) fn log_dropped(key: &LogKey, first: u64) -> Self {
        Self::Dropped { what: "log", name: key.name.clone(), first }
    }
}
