//! The error of a store.

use std::time::Duration;

use super::LogError;
use crate::types::Text;

/// An error of a store.
///
/// # Examples
///
/// ```
/// use forgeline::store::StoreError;
///
/// let error = StoreError::Newer { found: 7, own: 1 };
/// assert!(error.to_string().contains("version 7"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The thing that was asked for is not there, or is another scope's.
    #[error("there is no {what} `{name}`")]
    NotFound {
        /// The kind: `conversation` or `run`.
        what: &'static str,
        /// The name that was given.
        name: Text,
    },
    /// The name is taken.
    #[error("{what} `{name}` already exists")]
    Exists {
        /// The kind.
        what: &'static str,
        /// The name that was given.
        name: Text,
    },
    /// The thing has ended, and does not change any more.
    #[error("{what} `{name}` has ended and can no longer change")]
    Ended {
        /// The kind.
        what: &'static str,
        /// The name that was given.
        name: Text,
    },
    /// The end is elsewhere: another writer was faster, or this one has lost something.
    #[error("conversation `{name}` has {end} entries, not {at}")]
    Behind {
        /// The name of the conversation.
        name: Text,
        /// The number that was given.
        at: u64,
        /// The number of its entries.
        end: u64,
    },
    /// The items from there on were dropped, as they were too old.
    #[error("the items before {first} were dropped; read from {first} on")]
    Dropped {
        /// The number of the first that is there.
        first: u64,
    },
    /// The place where a list is to go on is not one that a list has given.
    #[error("invalid cursor `{cursor}`; pass the unchanged `next` of a page")]
    BadCursor {
        /// The place that was given.
        cursor: Text,
    },
    /// A limit is reached.
    #[error("the store is full: {reason}")]
    Full {
        /// The limit and what to do.
        reason: String,
    },
    /// The store can be read and not written.
    #[error("the store cannot be written: {reason}")]
    ReadOnly {
        /// The reason and what to do.
        reason: String,
    },
    /// A newer version has written the store; it was left as it is.
    #[error(
        "the store has version {found}, and this library supports versions up to {own}; use the library that wrote \
         it, or another file"
    )]
    Newer {
        /// The version of the store.
        found: u64,
        /// The newest version that is known.
        own: u64,
    },
    /// The stored data cannot be read; it was left as it is.
    #[error("the stored data cannot be read: {reason}")]
    Corrupt {
        /// The reason and what to do.
        reason: String,
    },
    /// The store did not answer in time; what was to be written may have been.
    #[error("the store did not answer within {limit:?}")]
    Slow {
        /// The time that was given.
        limit: Duration,
    },
    /// The store cannot be reached.
    #[error("the store cannot be used: {reason}")]
    Unavailable {
        /// The reason, for whoever runs the service.
        reason: String,
    },
}

impl From<StoreError> for LogError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full { reason } => Self::Full { reason },
            StoreError::ReadOnly { reason } => Self::ReadOnly { reason },
            StoreError::Corrupt { reason } => Self::Corrupt { reason },
            // It is not read, and left as it is.
            error @ StoreError::Newer { .. } => Self::Corrupt { reason: error.to_string() },
            error @ (StoreError::NotFound { .. }
            | StoreError::Exists { .. }
            | StoreError::Ended { .. }
            | StoreError::Behind { .. }
            | StoreError::Dropped { .. }
            | StoreError::BadCursor { .. }
            | StoreError::Slow { .. }
            | StoreError::Unavailable { .. }) => Self::Unavailable { reason: error.to_string() },
        }
    }
}
