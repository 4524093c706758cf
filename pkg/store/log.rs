//! The log of a run's events, which its readers read.

use std::sync::Arc;

use bytes::Bytes;
use futures_core::{future::BoxFuture, stream::BoxStream};

use crate::types::Text;

/// Most records that are read at a time by who follows a log.
pub(super) const PAGE: usize = 256;

/// The log of events, for any number of runs and other streams. Each has records with the numbers 0, 1, 2 and so on.
///
/// A record is in the log before a reader sees it, and stays as it is. A log is closed behind its last record, and may be retired,
/// which drops its records and keeps its name. A store may pack the records of a closed log; they are read as before.
///
/// Each wait but [`wait`](Self::wait) ends within 10 s, with [`LogError::Unavailable`] if need be.
///
/// # Cancel safety
///
/// A wait that is dropped has appended all records or none.
pub trait EventLog: Send + Sync + 'static {
    /// Begins an empty log.
    ///
    /// # Errors
    ///
    /// [`LogError::Exists`] when there is one of this name.
    fn create(&self, key: LogKey) -> BoxFuture<'_, Result<(), LogError>>;

    /// Appends records, of which the first has the number `at`.
    ///
    /// # Errors
    ///
    /// [`LogError::Behind`] when the log does not end there: another writer was faster, or this one has lost records;
    /// [`LogError::Closed`]; [`LogError::Full`] and [`LogError::ReadOnly`], as of each method that writes; and as for [`read`](Self::read).
    fn append<'a>(
        &'a self,
        key: &'a LogKey,
        at: u64,
        records: Vec<LogRecord>,
    ) -> BoxFuture<'a, Result<(), LogError>>;

    /// Closes a log: nothing follows its last record. Closing it again changes nothing.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    fn close<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<(), LogError>>;

    /// Reads at most this many records, from the number `from` on; none when there are none yet.
    ///
    /// # Errors
    ///
    /// [`LogError::NotFound`], [`LogError::Retired`], [`LogError::Behind`] when `from` is behind the end, [`LogError::Dropped`] when the
    /// record was [trimmed](Self::trim), or [`LogError::Corrupt`].
    fn read<'a>(
        &'a self,
        key: &'a LogKey,
        from: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<LogPage, LogError>>;

    /// Waits until the log has a record with the number `from`, or is closed or retired.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    fn wait<'a>(&'a self, key: &'a LogKey, from: u64) -> BoxFuture<'a, Result<(), LogError>>;

    /// Reads a log from the number `from` on, each record with its number: what is there, then what comes, without a gap. The stream ends
    /// behind the last record of a closed log, and with an error, as of [`read`](Self::read).
    ///
    /// By default it calls `read` and [`wait`](Self::wait) in turns; a log with a cheaper way to wake its readers has its own. At most 256 records are read ahead.
    fn follow(
        self: Arc<Self>,
        key: LogKey,
        from: u64,
    ) -> BoxStream<'static, Result<(u64, LogRecord), LogError>> {
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

    /// Drops the records of a log; its name stays taken.
    ///
    /// # Errors
    ///
    /// [`LogError::NotFound`].
    fn retire<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<(), LogError>>;

    /// Removes a log with its name, which can be taken again. Waits for it end with [`LogError::NotFound`].
    ///
    /// # Errors
    ///
    /// [`LogError::NotFound`].
    fn remove<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<(), LogError>>;

    /// Drops the records before this number, or some fewer: a store drops together what it keeps together. The others keep their numbers,
    /// and the log goes on as before.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read); [`LogError::Behind`] when the number is behind the end.
    fn trim<'a>(&'a self, key: &'a LogKey, before: u64) -> BoxFuture<'a, Result<(), LogError>>;

    /// Notes that a log is used: a closed one counts as closed now, and [`LogInfo::used_ms`] is now.
    ///
    /// # Errors
    ///
    /// [`LogError::NotFound`] or [`LogError::Retired`].
    fn touch<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<(), LogError>>;

    /// Returns the logs whose names begin with this, of all scopes, in the order of their keys: at most this number, behind a key if one is
    /// given. Those that were retired are not among them.
    ///
    /// # Errors
    ///
    /// [`LogError::Unavailable`].
    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a LogKey>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<LogInfo>, LogError>>;

    /// Retires the closed logs that are not to be kept, the oldest first, packs what was closed, and forgets the oldest names of retired
    /// logs; returns the number of logs that it retired. Logs that are open stay. It does a part of the work at a time, so that others do not
    /// wait: call it now and then.
    ///
    /// # Errors
    ///
    /// [`LogError::Unavailable`].
    fn sweep(&self, keep: Retention) -> BoxFuture<'_, Result<u64, LogError>>;
}

/// The time for which closed logs are kept.
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
    /// Logs that were closed before this time go, in milliseconds since the Unix epoch.
    pub closed_before_ms: Option<u64>,
    /// The oldest closed logs go while all closed logs together have more bytes. Those that are open do not count: nothing of them would go.
    pub max_bytes: Option<u64>,
    /// Most names of retired logs that are known; beyond it the oldest are forgotten, and not found any more.
    pub max_retired: u64,
}

impl Retention {
    /// Keeps all logs, and the names of 100,000 retired ones.
    #[must_use]
    pub fn all() -> Self {
        Self { closed_before_ms: None, max_bytes: None, max_retired: 100_000 }
    }
}

/// The name of a log in its scope. What another scope has is not found.
///
/// # Examples
///
/// ```
/// use forgeline::store::LogKey;
///
/// assert_ne!(LogKey::new("team-a", "run_1"), LogKey::new("team-b", "run_1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct LogKey {
    /// The tenant, team or project.
    pub scope: Text,
    /// The name, such as the id of a run.
    pub name: Text,
}

impl LogKey {
    /// Returns the name of a log in a scope.
    #[must_use]
    pub fn new(scope: impl Into<Text>, name: impl Into<Text>) -> Self {
        Self { scope: scope.into(), name: name.into() }
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
    /// Its kind: that of the event.
    pub kind: Text,
    /// Its data: of an event, the envelope as JSON.
    pub data: Bytes,
}

impl LogRecord {
    /// Returns a record.
    #[must_use]
    pub fn new(kind: impl Into<Text>, data: impl Into<Bytes>) -> Self {
        Self { kind: kind.into(), data: data.into() }
    }

    /// Returns the bytes that it takes in memory: its kind, its data, and the record itself, which is most of a short one.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.kind.len() + self.data.len()
    }
}

/// The facts of a log without its records.
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
    /// Its name in its scope.
    pub key: LogKey,
    /// The number behind its last record.
    pub end: u64,
    /// The bytes that it takes, as the store has them.
    pub bytes: u64,
    /// The time at which it was begun, closed or [touched](EventLog::touch), in milliseconds since the Unix epoch: the last of them.
    pub used_ms: u64,
}

impl LogInfo {
    /// Returns the facts of a log.
    #[must_use]
    pub fn new(key: LogKey, end: u64, bytes: u64, used_ms: u64) -> Self {
        Self { key, end, bytes, used_ms }
    }
}

/// Some records of a log that follow one another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogPage {
    /// The records.
    pub records: Vec<LogRecord>,
    /// The number behind the last of them.
    pub next: u64,
    /// `true` when nothing follows, now or later.
    pub is_end: bool,
}

impl LogPage {
    /// Returns a page.
    #[must_use]
    pub fn new(records: Vec<LogRecord>, next: u64, is_end: bool) -> Self {
        Self { records, next, is_end }
    }
}

/// An error of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// There is no such log.
    #[error("there is no log `{name}`")]
    NotFound {
        /// The name.
        name: Text,
    },
    /// There is a log of this name.
    #[error("log `{name}` already exists")]
    Exists {
        /// The name.
        name: Text,
    },
    /// The records were dropped.
    #[error("the records of log `{name}` were dropped")]
    Retired {
        /// The name.
        name: Text,
    },
    /// The record was dropped, and those behind it are there.
    #[error("the records of log `{name}` before {first} were dropped")]
    Dropped {
        /// The name.
        name: Text,
        /// The number of the first that is there.
        first: u64,
    },
    /// The log ends elsewhere.
    #[error("log `{name}` ends at {end}, not at {at}")]
    Behind {
        /// The name.
        name: Text,
        /// The number that was given.
        at: u64,
        /// The number behind its last record.
        end: u64,
    },
    /// The log is closed.
    #[error("log `{name}` is closed")]
    Closed {
        /// The name.
        name: Text,
    },
    /// A limit is reached.
    #[error("the log is full: {reason}")]
    Full {
        /// The limit and what to do.
        reason: String,
    },
    /// The log can be read and not written.
    #[error("the log cannot be written: {reason}")]
    ReadOnly {
        /// The reason and what to do.
        reason: String,
    },
    /// The records cannot be read; they were left as they are.
    #[error("the records cannot be read: {reason}")]
    Corrupt {
        /// The reason and what to do.
        reason: String,
    },
    /// The log cannot be reached, or did not answer in time.
    #[error("the log cannot be used: {reason}")]
    Unavailable {
        /// The reason, for whoever runs the service.
        reason: String,
    },
}
