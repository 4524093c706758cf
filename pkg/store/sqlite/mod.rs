//! Stores in a `SQLite` file.

mod audit;
mod audit_schema;
#[cfg(test)]
mod audit_tests;
mod checkpoint;
mod commands;
mod conversation_rows;
mod conversations;
mod erase;
mod errors;
mod file;
mod follow;
mod latency;
mod log;
mod log_append;
mod log_facts;
mod log_head;
mod log_tails;
mod notifications;
mod owned_rows;
mod pack;
mod provider_profiles;
mod reader_pool;
mod retire;
mod run_claims;
mod run_epochs;
mod run_rows;
mod runs;
mod schema;
mod secret_rows;
mod secret_tables;
#[cfg(test)]
mod secret_tests;
mod setup;
mod statements;
#[cfg(test)]
mod tests;
mod waits;
mod write_turns;
mod writer;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::Connection;

pub use self::setup::{Durability, SqliteOptions};
use self::{
    file::FileLock,
    log_tails::LogTails,
    reader_pool::ReaderPool,
    waits::{blocking, within},
    writer::SqliteWriter,
};
use super::{StoreError, command_waits::CommandWaits};

/// Maximum size of a file that is rewritten after an erasure, in bytes: writes wait for it.
const SCRUBBED_BYTES: u64 = 64 << 20;

/// All stores in a single `SQLite` file, for one process at a time. Clones are handles to the same file.
///
/// An append commits on its own thread if nothing else is being written; one thread does all other writes. Appends of all runs that arrive during a commit
/// go into the next one together, and each completes once it is committed. Readers do not wait for writers, and read the newest events of a growing log
/// from memory. A process that is killed loses nothing that was acknowledged; [`Durability`] decides whether a power loss does.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::store::{EventLog, LogKey, LogRecord, SqliteStore};
///
/// let folder = std::env::temp_dir().join(format!("forgeline-doc-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let (path, key) = (folder.join("service.db"), LogKey::new("team-a", "run_1"));
/// let store = SqliteStore::open(&path).await?;
/// store.create(key.clone()).await?;
/// store.append(&key, 0, vec![LogRecord::new("turn_end", "{}")], None).await?;
/// store.close_file().await;
/// drop(store);
///
/// let store = SqliteStore::open(&path).await?;
/// assert_eq!(store.read(&key, 0, 10).await?.next, 1);
/// store.close_file().await;
/// std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SqliteStore(Arc<SqliteInner>);

struct SqliteInner {
    path: PathBuf,
    writer: SqliteWriter,
    readers: ReaderPool,
    tails: Arc<LogTails>,
    waits: Arc<CommandWaits>,
    /// `true` if data was deleted that the WAL may still contain.
    has_deleted: AtomicBool,
    /// The lock that keeps other processes out.
    _lock: FileLock,
}

impl SqliteStore {
    /// Opens the store in a file, which is created if missing.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Newer`] for a file of a newer version, [`StoreError::Corrupt`] for one that is damaged or belongs to another program,
    /// [`StoreError::ReadOnly`], or [`StoreError::Unavailable`] if another process has it open. The file is then left unchanged.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(SqliteOptions::new(path.as_ref())).await
    }

    /// Opens the store with options; see [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// The same as for [`open`](Self::open).
    pub async fn open_with(options: SqliteOptions) -> Result<Self, StoreError> {
        blocking(move || {
            let (connections, lock) = file::open(&options)?;
            let readers = ReaderPool::open(options.path.clone())?;
            let (tails, has_deleted) = (Arc::default(), AtomicBool::new(false));
            let waits = Arc::default();
            let (path, writer) = (options.path, SqliteWriter::start(connections)?);
            let inner =
                SqliteInner { path, writer, readers, tails, waits, has_deleted, _lock: lock };
            Ok(Self(Arc::new(inner)))
        })
        .await
    }

    /// Checks whether a store can be opened in a file, or created if missing, as far as that can be determined without changing anything. Another process
    /// may have the file open.
    ///
    /// # Errors
    ///
    /// The same as for [`open`](Self::open).
    pub async fn look(path: impl AsRef<Path>) -> Result<(), StoreError> {
        let path = path.as_ref().to_owned();
        blocking(move || file::look(&path)).await
    }

    /// Makes each write fail as in a file that cannot be written.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    pub async fn refuse_writes(&self) {
        let set = |connection: &Connection| {
            connection.execute_batch("PRAGMA query_only = 1").map_err(errors::store_error)
        };
        let set = self.0.writer.write(0, set).await;
        // Writes of the same commit make it fail: the setting holds all the same.
        assert!(matches!(set, Ok(()) | Err(StoreError::ReadOnly { .. })), "{set:?}");
        self.0.writer.turns.close().await;
    }

    /// Checks the whole file for damage, which takes time proportional to its size.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Corrupt`] with the first problem found.
    pub async fn check(&self) -> Result<(), StoreError> {
        let check =
            |connection: &Connection| statements::row(connection, "PRAGMA integrity_check(1)", []);
        let found: Option<(String,)> = self.0.readers.read(check).await?;
        let reason = found.map(|(reason,)| reason).unwrap_or_default();
        if reason == "ok" { Ok(()) } else { Err(StoreError::Corrupt { reason }) }
    }

    /// Rewrites the file without the space of deleted data, and without the copies that moved rows leave behind. Deleted data has been overwritten with
    /// zeros before that; an [erasure](super::Stores::erase) compacts a file of at most 64 MiB by itself. Takes time and disk space proportional to the
    /// size of the file, and blocks writes: call it while no service uses the store.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written, for example for lack of space.
    pub async fn compact(&self) -> Result<(), StoreError> {
        let path = self.0.path.clone();
        blocking(move || file::compact(&path)).await
    }

    /// Reads from the file, within the time limit.
    async fn query<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        within(self.0.readers.read(work)).await
    }

    /// Records that data was deleted.
    fn deleted(&self) {
        self.0.has_deleted.store(true, Ordering::Release);
    }

    /// Removes deleted data from the WAL, if there is any.
    async fn purge(&self) {
        self.clear(file::purge).await;
    }

    /// Does the same as [`purge`](Self::purge), and rewrites the file if that takes no longer than about a second: moved rows leave copies in the unused
    /// part of pages, which `SQLite` does not overwrite.
    async fn scrub(&self) {
        let is_small = std::fs::metadata(&self.0.path).is_ok_and(|it| it.len() <= SCRUBBED_BYTES);
        if is_small {
            self.clear(|path| file::compact(path).map(|()| true)).await;
        } else {
            self.purge().await;
        }
    }

    async fn clear(&self, work: impl FnOnce(&Path) -> Result<bool, StoreError> + Send + 'static) {
        if !self.0.has_deleted.swap(false, Ordering::AcqRel) {
            return;
        }
        let path = self.0.path.clone();
        match within(blocking(move || work(&path))).await {
            Ok(true) => return,
            Ok(false) => tracing::debug!("a reader keeps the log of the file from being emptied"),
            Err(error) => {
                tracing::warn!(%error, "what was deleted cannot be cleared from the file");
            }
        }
        // The next sweep tries again.
        self.deleted();
    }

    /// Completes pending writes and closes the file, for all handles: later operations fail.
    pub async fn close_file(&self) {
        self.0.readers.close().await;
        // The last connection to be closed moves commits into the main file: that of the writer thread.
        self.0.writer.stop().await;
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqliteStore").field("path", &self.0.path).finish_non_exhaustive()
    }
}
