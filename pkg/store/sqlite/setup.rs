//! The setup of a store in a file.

use std::path::PathBuf;

use crate::types::setters;

/// The failures that an acknowledged write outlives, beside the end of the process.
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
    /// A process that is killed. A loss of power may take the writes of the last moments, and leaves the file sound.
    #[default]
    Process,
    /// A loss of power too: each commit waits for the disk.
    Power,
}

/// The setup of a [`SqliteStore`](super::SqliteStore).
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
    /// The file; it is created if need be, in a folder that is there.
    pub path: PathBuf,
    /// The failures that an acknowledged write outlives.
    pub durability: Durability,
    /// Largest file, in bytes; beyond it what is written is refused as [`StoreError::Full`](crate::store::StoreError::Full). Without it, the disk is the limit.
    pub max_bytes: Option<u64>,
}

impl SqliteOptions {
    /// Returns the setup of a store in this file.
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
