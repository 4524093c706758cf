//! The error of a store.

use std::time::Duration;

use super::{ConversationKey, LogKey};
use forgeline_types::Text;

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
    /// The item does not exist, or belongs to another scope.
    #[error("there is no {what} `{name}`")]
    NotFound {
        /// The kind of item: `log`, `conversation` or `run`.
        what: &'static str,
        /// The requested name.
        name: Text,
    },
    /// The name is taken.
    #[error("{what} `{name}` already exists")]
    Exists {
        /// The kind of item.
        what: &'static str,
        /// The name that was given.
        name: Text,
    },
    /// The item has ended and can no longer change.
    #[error("{what} `{name}` has ended and can no longer change")]
    Ended {
        /// The kind of item.
        what: &'static str,
        /// The name that was given.
        name: Text,
    },
    /// The log was retired, and its records dropped.
    #[error("the records of log `{name}` were dropped")]
    Retired {
        /// The name of the log.
        name: Text,
    },
    /// The log or conversation ends elsewhere: another writer was faster, or this one has lost entries.
    #[error("{what} `{name}` has {end} entries, not {at}")]
    Behind {
        /// The kind of item.
        what: &'static str,
        /// The name that was given.
        name: Text,
        /// The requested position.
        at: u64,
        /// The number of its entries.
        end: u64,
    },
    /// The entries before `first` were dropped; later ones are available.
    #[error("the entries of {what} `{name}` before {first} were dropped; read from {first} on")]
    Dropped {
        /// The kind of item: `log`, or `scope` for notifications.
        what: &'static str,
        /// The name that was given.
        name: Text,
        /// The number of the first entry that is kept.
        first: u64,
    },
    /// The position where a list is to continue does not come from a list.
    #[error("invalid cursor `{cursor}`; pass the unchanged `next` of a page")]
    BadCursor {
        /// The given position.
        cursor: Text,
    },
    /// A limit has been reached.
    #[error("the store is full: {reason}")]
    Full {
        /// The limit, and a remedy.
        reason: String,
    },
    /// The store can be read, but not written.
    #[error("the store cannot be written: {reason}")]
    ReadOnly {
        /// The reason, and a remedy.
        reason: String,
    },
    /// The store was written by a newer version; it was left unchanged.
    #[error(
        "the store has version {found}, and this library supports versions up to {own}; use the library that wrote \
         it, or another file"
    )]
    Newer {
        /// The version of the store.
        found: u64,
        /// The newest version that this library supports.
        own: u64,
    },
    /// The stored data cannot be read; it was left unchanged.
    #[error("the stored data cannot be read: {reason}")]
    Corrupt {
        /// The reason, and a remedy.
        reason: String,
    },
    /// The store did not respond in time; the write may have been made.
    #[error("the store did not answer within {limit:?}")]
    Slow {
        /// The time limit.
        limit: Duration,
    },
    /// The store cannot be reached.
    #[error("the store cannot be used: {reason}")]
    Unavailable {
        /// The reason, for the operator of the service.
        reason: String,
    },
}

impl StoreError {
    /// Returns the error of a conversation that does not exist.
    pub(crate) fn no_conversation(key: &ConversationKey) -> Self {
        Self::NotFound { what: "conversation", name: key.id.clone() }
    }

    /// Returns the error of a run that does not exist.
    pub(crate) fn no_run(key: &LogKey) -> Self {
        Self::NotFound { what: "run", name: key.name.clone() }
    }

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
