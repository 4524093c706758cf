//! The error of a store.

use std::time::Duration;

use futures_core::future::BoxFuture;

use forgeline_types::Text;

/// An error of a store.
///
/// # Examples
///
/// ```
/// use forgeline::store::StoreError;
///
/// let error = StoreError::newer(7, 1);
/// assert!(error.to_string().contains("version 7"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The item does not exist, or belongs to another scope.
    #[error("there is no {what} `{name}` in this scope")]
    #[non_exhaustive]
    NotFound {
        /// The kind of item: `log`, `conversation` or `run`.
        what: &'static str,
        /// The requested name.
        name: Text,
    },
    /// The name is taken.
    #[error("{what} `{name}` already exists; choose another name")]
    #[non_exhaustive]
    Exists {
        /// The kind of item.
        what: &'static str,
        /// The name that was given.
        name: Text,
    },
    /// The item has ended and can no longer change.
    #[error("{what} `{name}` has ended and can no longer change; begin another one")]
    #[non_exhaustive]
    Ended {
        /// The kind of item.
        what: &'static str,
        /// The name that was given.
        name: Text,
    },
    /// Another claim of the run is newer, or the run was released: the caller stops the run, and writes nothing more.
    #[error(
        "claim {epoch} of run `{run}` no longer holds: the run was released or claimed again; stop it, and write \
         nothing more"
    )]
    #[non_exhaustive]
    Fenced {
        /// The id of the run.
        run: Text,
        /// The epoch of the writer.
        epoch: u64,
    },
    /// The log was retired, and its records dropped.
    #[error("the records of log `{name}` were dropped; only new logs can be read")]
    #[non_exhaustive]
    Retired {
        /// The name of the log.
        name: Text,
    },
    /// The log or conversation ends elsewhere: another writer was faster, or this one has lost entries.
    #[error("{what} `{name}` has {end} entries, not {at}; go on from {end}")]
    #[non_exhaustive]
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
    #[non_exhaustive]
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
    #[non_exhaustive]
    BadCursor {
        /// The given position.
        cursor: Text,
    },
    /// A limit has been reached.
    #[error("the store is full: {reason}")]
    #[non_exhaustive]
    Full {
        /// The limit, and a remedy.
        reason: String,
    },
    /// The store can be read, but not written.
    #[error("the store cannot be written: {reason}")]
    #[non_exhaustive]
    ReadOnly {
        /// The reason, and a remedy.
        reason: String,
    },
    /// The store was written by a newer version; it was left unchanged.
    #[error(
        "the store has version {found}, and this library supports versions up to {own}; use the library that wrote \
         it, or another file"
    )]
    #[non_exhaustive]
    Newer {
        /// The version of the store.
        found: u64,
        /// The newest version that this library supports.
        own: u64,
    },
    /// The stored data cannot be read; it was left unchanged.
    #[error("the stored data cannot be read: {reason}")]
    #[non_exhaustive]
    Corrupt {
        /// The reason, and a remedy.
        reason: String,
    },
    /// The store did not respond in time; the write may have been made.
    #[error(
        "the store did not answer within {limit:?}; the write may have been made, so read before you write again"
    )]
    #[non_exhaustive]
    Slow {
        /// The time limit.
        limit: Duration,
    },
    /// The store cannot be reached.
    #[error("the store cannot be used: {reason}")]
    #[non_exhaustive]
    Unavailable {
        /// The reason, for the operator of the service.
        reason: String,
    },
}

impl StoreError {
    /// Creates the error of something that does not exist; `what` is its kind, such as `log`.
    #[must_use]
    pub fn not_found(what: &'static str, name: impl Into<Text>) -> Self {
        Self::NotFound { what, name: name.into() }
    }

    /// Creates the error of something that already exists.
    #[must_use]
    pub fn exists(what: &'static str, name: impl Into<Text>) -> Self {
        Self::Exists { what, name: name.into() }
    }

    /// Creates the error of something that has ended.
    #[must_use]
    pub fn ended(what: &'static str, name: impl Into<Text>) -> Self {
        Self::Ended { what, name: name.into() }
    }

    /// Creates the error of a writer whose claim of the run no longer holds.
    #[must_use]
    pub fn fenced(run: impl Into<Text>, epoch: u64) -> Self {
        Self::Fenced { run: run.into(), epoch }
    }

    /// Creates the error of a log whose records were dropped.
    #[must_use]
    pub fn retired(name: impl Into<Text>) -> Self {
        Self::Retired { name: name.into() }
    }

    /// Creates the error of an entry at the wrong place: the next one is `end`.
    #[must_use]
    pub fn behind(what: &'static str, name: impl Into<Text>, at: u64, end: u64) -> Self {
        Self::Behind { what, name: name.into(), at, end }
    }

    /// Creates the error of entries that were dropped: `first` is the first that is left.
    #[must_use]
    pub fn dropped(what: &'static str, name: impl Into<Text>, first: u64) -> Self {
        Self::Dropped { what, name: name.into(), first }
    }

    /// Creates the error of a cursor that the store did not make.
    #[must_use]
    pub fn bad_cursor(cursor: impl Into<Text>) -> Self {
        Self::BadCursor { cursor: cursor.into() }
    }

    /// Creates the error of a store without room.
    #[must_use]
    pub fn full(reason: impl Into<String>) -> Self {
        Self::Full { reason: reason.into() }
    }

    /// Creates the error of a store that cannot be written.
    #[must_use]
    pub fn read_only(reason: impl Into<String>) -> Self {
        Self::ReadOnly { reason: reason.into() }
    }

    /// Creates the error of a store of a later version.
    #[must_use]
    pub fn newer(found: u64, own: u64) -> Self {
        Self::Newer { found, own }
    }

    /// Creates the error of data that cannot be read.
    #[must_use]
    pub fn corrupt(reason: impl Into<String>) -> Self {
        Self::Corrupt { reason: reason.into() }
    }

    /// Creates the error of a store that did not answer in time.
    #[must_use]
    pub fn slow(limit: Duration) -> Self {
        Self::Slow { limit }
    }

    /// Creates the error of a store that cannot be used.
    #[must_use]
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into() }
    }
}

/// The future of an operation of a store.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;
