//! A file of `SQLite`.

use std::{path::Path, time::Duration};

use forgeline::store::{SqliteOptions, SqliteStore, StoreError, Stores};
use tokio::time::timeout;

use crate::{exit::UsageResult as _, shown::shown_path};

/// The time that the database has to write its log into its file, which a busy disk may delay.
const CLOSING: Duration = Duration::from_secs(10);

/// An open file.
#[derive(Debug, Clone)]
pub(in crate::serve) struct FileDatabase(SqliteStore);

impl FileDatabase {
    /// Opens the file, or creates it.
    ///
    /// # Errors
    ///
    /// A usage error for a file that cannot be used.
    pub(super) async fn open(options: SqliteOptions) -> anyhow::Result<Self> {
        let path = options.path.clone();
        Ok(Self(SqliteStore::open_with(options).await.usage_context(|| unusable(&path))?))
    }

    pub(super) fn stores(&self) -> Stores {
        Stores::of(self.0.clone())
    }

    /// Rewrites the file, so that nothing of what was deleted is in its free space.
    pub(super) async fn compact(&self) -> Result<(), StoreError> {
        self.0.compact().await
    }

    /// Writes what is in the log of the file into the file; the next process would do it otherwise.
    pub(super) async fn close(&self) {
        drop(timeout(CLOSING, self.0.close_file()).await);
    }
}

/// Looks at a file without changing it.
///
/// # Errors
///
/// A usage error for a file that cannot be used.
pub(super) async fn look(path: &Path) -> anyhow::Result<()> {
    SqliteStore::look(path).await.usage_context(|| unusable(path))
}

fn unusable(path: &Path) -> String {
    format!("cannot use the database {}", shown_path(path))
}
