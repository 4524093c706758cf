//! Stores in a file of `SQLite`.

mod append;
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
    sync::Arc,
};

use sqlx::SqlitePool;

pub use self::setup::{Durability, SqliteOptions};
use self::{bounded::within, file::Lock, tails::Tails, writer::Writer};
use super::StoreError;

/// All stores in one file of `SQLite`, for one process at a time. Clones are handles to the same file.
///
/// One task writes. What all runs append while a commit is under way goes into the next one together; an append has ended once it is
/// committed. Readers read beside it, and the newest events of a log that grows from memory. A process that is killed loses nothing
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
        let writer = Writer::start(opened.writer, opened.mover);
        let (path, readers) = (options.path, opened.readers);
        Ok(Self(Arc::new(Inside { path, writer, readers, tails, _lock: opened.lock })))
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

    /// Writes the file anew without what was deleted, which stays in its free parts otherwise. It takes time and room in proportion to the
    /// size of the file, and writes wait for it: call it where no service uses the store.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, as for a lack of room.
    pub async fn compact(&self) -> Result<(), StoreError> {
        file::compact(&self.0.path).await
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
