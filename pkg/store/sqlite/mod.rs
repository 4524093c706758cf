//! Stores in a file of `SQLite`.

mod append;
mod at_once;
mod bounded;
mod checkpoint;
mod conversations;
mod erase;
mod errors;
mod file;
mod follow;
mod latency;
mod log;
mod log_facts;
mod log_head;
mod notifications;
mod owned_rows;
mod pack;
mod packed;
mod retire;
mod rows;
mod runs;
mod schema;
mod setup;
mod stored;
mod tails;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use sqlx::SqlitePool;

pub use self::setup::{Durability, SqliteOptions};
use self::{bounded::within, file::Lock, tails::Tails, writer::Writer};
use super::StoreError;

/// Largest file that is written anew behind an erase, in bytes: writes wait for it.
const SCRUBBED_BYTES: u64 = 64 << 20;

/// All stores in one file of `SQLite`, for one process at a time. Clones are handles to the same file.
///
/// An append beside which nothing else is written commits where it is; one task writes all else. What all runs append while a commit is
/// under way goes into the next one together; an append has ended once it is committed. Readers read beside it, and the newest events of a log that grows from memory. A process that is killed loses nothing
/// that was acknowledged; whether a loss of power does is [`Durability`].
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
/// store.append(&key, 0, vec![LogRecord::new("turn_end", "{}")]).await?;
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
pub struct SqliteStore(Arc<Inside>);

struct Inside {
    path: PathBuf,
    writer: Writer,
    readers: SqlitePool,
    tails: Arc<Tails>,
    /// `true` when something was deleted that the log of the file may still have.
    has_deleted: AtomicBool,
    /// Keeps other processes out.
    _lock: Lock,
}

impl SqliteStore {
    /// Opens the store in a file, which is created if need be.
    ///
    /// # Errors
    ///
    /// [`StoreError::Newer`] for a file of a newer version, [`StoreError::Corrupt`] for one that is damaged or of another program,
    /// [`StoreError::ReadOnly`], and [`StoreError::Unavailable`] when another process has it. The file stays as it is then.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(SqliteOptions::new(path.as_ref())).await
    }

    /// Opens the store with a setup; see [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// As for that.
    pub async fn open_with(options: SqliteOptions) -> Result<Self, StoreError> {
        let opened = file::open(&options).await?;
        let tails = Arc::new(Tails::default());
        let writer = Writer::start(opened.writer, opened.mover, opened.at_once);
        let (path, readers) = (options.path, opened.readers);
        let (has_deleted, lock) = (AtomicBool::new(false), opened.lock);
        Ok(Self(Arc::new(Inside { path, writer, readers, tails, has_deleted, _lock: lock })))
    }

    /// Looks whether a store can be opened in a file, or created where it is not there, as far as that can be known without changing anything.
    /// Another process may have it open.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub async fn look(path: impl AsRef<Path>) -> Result<(), StoreError> {
        file::look(path.as_ref()).await
    }

    /// Makes each write fail as in a file that cannot be written.
    #[cfg(test)]
    pub(crate) async fn refuse_writes(&self) {
        let set = writer::work(|connection| {
            Box::pin(async move {
                let set = sqlx::query("PRAGMA query_only = 1").execute(connection).await;
                set.map(drop).map_err(errors::of)
            })
        });
        self.0.writer.write(0, set, None).await.unwrap();
        self.0.writer.at_once.close().await;
    }

    /// Looks through the whole file for damage, which takes time in proportion to its size.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] with the first that was found.
    pub async fn check(&self) -> Result<(), StoreError> {
        let found: String = sqlx::query_scalar("PRAGMA integrity_check(1)")
            .fetch_one(&self.0.readers)
            .await
            .map_err(errors::of)?;
        if found == "ok" { Ok(()) } else { Err(StoreError::Corrupt { reason: found }) }
    }

    /// Writes the file anew without the room of what was deleted, and without the copies that rows left where they moved. What was deleted is
    /// written over with zeros before that already; an [erase](super::Stores::erase) compacts a file of at most 64 MiB by itself. It takes time and room in proportion
    /// to the size of the file, and writes wait for it: call it where no service uses the store.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, as for a lack of room.
    pub async fn compact(&self) -> Result<(), StoreError> {
        file::compact(&self.0.path).await
    }

    /// Notes that something was deleted.
    fn deleted(&self) {
        self.0.has_deleted.store(true, Ordering::Release);
    }

    /// Clears the log of the file of what was deleted, if anything was.
    async fn purge(&self) {
        self.clear(file::purge(&self.0.path)).await;
    }

    /// Does so, and writes the file anew where that takes no longer than about a second: rows that have moved leave copies in the unused part of
    /// pages, which `SQLite` does not write over.
    async fn scrub(&self) {
        let is_small = std::fs::metadata(&self.0.path).is_ok_and(|it| it.len() <= SCRUBBED_BYTES);
        if is_small {
            let compact = async { file::compact(&self.0.path).await.map(|()| true) };
            self.clear(compact).await;
        } else {
            self.purge().await;
        }
    }

    async fn clear(&self, work: impl Future<Output = Result<bool, StoreError>> + Send) {
        if !self.0.has_deleted.swap(false, Ordering::AcqRel) {
            return;
        }
        match within(work).await {
            Ok(true) => return,
            Ok(false) => tracing::debug!("a reader keeps the log of the file from being emptied"),
            Err(error) => {
                tracing::warn!(%error, "what was deleted cannot be cleared from the file");
            }
        }
        // The next sweep tries it again.
        self.deleted();
    }

    /// Writes what is under way and closes the file, for all handles: what they ask for later fails.
    pub async fn close_file(&self) {
        self.0.writer.stop().await;
        self.0.readers.close().await;
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqliteStore").field("path", &self.0.path).finish_non_exhaustive()
    }
}
