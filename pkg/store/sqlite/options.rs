//! The options of a store in a file.

use std::path::PathBuf;

use forgeline_types::setters;

/// The failures that an acknowledged write survives, besides the end of the process.
///
/// # Examples
///
/// ```
/// use forgeline::store::{Durability, SqliteOptions};
///
/// let options = SqliteOptions::new("service.db").durability(Durability::Power);
/// assert_eq!(options.durability, Durability::Power);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// A killed process. A power loss may lose the most recent writes, but leaves the file intact.
    #[default]
    Process,
    /// A power loss, too: each commit waits for the disk.
    Power,
}

/// The options of a [`SqliteStore`](super::SqliteStore).
///
/// # Examples
///
/// ```
/// use forgeline::store::SqliteOptions;
///
/// let options = SqliteOptions::new("service.db").max_bytes(1 << 30);
/// assert_eq!(options.max_bytes, Some(1 << 30));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// The file, which is created if missing, in an existing folder.
    pub path: PathBuf,
    /// The failures that an acknowledged write survives.
    pub durability: Durability,
    /// The maximum file size, in bytes; beyond it, writes fail with [`StoreError::Full`](crate::StoreError::Full). Without it, the disk is the limit.
    pub max_bytes: Option<u64>,
}

impl SqliteOptions {
    /// Returns the options of a store in this file.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), durability: Durability::default(), max_bytes: None }
    }

    setters! {
        SqliteOptions:
        durability(Durability),
        max_bytes(some u64),
    }
}
