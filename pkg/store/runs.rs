//! The store of runs.

use futures_core::future::BoxFuture;

use super::{EraseMode, LogKey, RunChange, RunRecord, StoreError};
use crate::types::{Text, setters};

/// Runs by scope and id: what they are, how far they are, and what a process that takes over needs.
///
/// Each wait ends within 10 s, with [`StoreError::Slow`] if need be.
///
/// # Cancel safety
///
/// A wait that is dropped has changed all that it was to change, or nothing.
pub trait RunStore: Send + Sync + 'static {
    /// Returns `true` when another process finds what this one has written: a service that ends leaves its runs to it, and does not cancel them.
    /// Default: `true`.
    fn outlives_process(&self) -> bool {
        true
    }

    /// Adds a run, unless the owner has had a request with the same key.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] when there is a run of this id.
    fn begin(&self, run: RunRecord) -> BoxFuture<'_, Result<RunBegun, StoreError>>;

    /// Returns the run that a request with this key of this owner began, if there is one.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn of_request<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        request: &'a str,
    ) -> BoxFuture<'a, Result<Option<RunRecord>, StoreError>>;

    /// Returns a run.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`].
    fn get<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<RunRecord, StoreError>>;

    /// Changes a run. One that ends loses its input.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], and [`StoreError::Ended`] when it has ended.
    fn change<'a>(
        &'a self,
        key: &'a LogKey,
        change: RunChange,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the runs of all scopes that have not ended, in the order in which they began, at most this many.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn open(&self, most: usize) -> BoxFuture<'_, Result<Vec<RunRecord>, StoreError>>;

    /// Returns the runs of a scope, those that began last first.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadCursor`].
    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<RunPage, StoreError>>;

    /// Deletes the runs that ended before this time, and the oldest of the others that ended beyond this number; returns their
    /// keys, at most 1,000 at a time, so that their logs are retired too.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn sweep(&self, before_ms: u64, keep: u64) -> BoxFuture<'_, Result<Vec<LogKey>, StoreError>>;

    /// Deletes a run; `false` when there was none.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn delete<'a>(&'a self, key: &'a LogKey) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Erases the runs of an owner in a scope, and returns their number; an owner without a name has none. As
    /// [`Tombstone`](EraseMode::Tombstone), the progress, the times and the tokens are left.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    fn erase<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        mode: EraseMode,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;
}

/// The outcome for a run that was to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunBegun {
    /// The run was added.
    New,
    /// An earlier request with the same key and the same digest began this run.
    Same(Box<RunRecord>),
    /// An earlier request with the same key was another one.
    Other,
}

/// The choice and the place of a list of runs.
///
/// # Examples
///
/// ```
/// use forgeline::store::RunQuery;
///
/// assert_eq!(RunQuery::new("team-a", 50).conversation("c1").most, 50);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunQuery {
    /// The scope.
    pub scope: Text,
    /// The owner, if only one's are wanted.
    pub owner: Option<Text>,
    /// The conversation, if only one's are wanted.
    pub conversation: Option<Text>,
    /// The [`next`](RunPage::next) of the page before.
    pub after: Option<Text>,
    /// Most runs of the page.
    pub most: usize,
}

impl RunQuery {
    /// Returns a query for the first page of a scope.
    #[must_use]
    pub fn new(scope: impl Into<Text>, most: usize) -> Self {
        Self { scope: scope.into(), owner: None, conversation: None, after: None, most }
    }

    setters! {
        RunQuery:
        owner(some into Text),
        conversation(some into Text),
        after(some into Text),
    }
}

/// Some runs of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<RunRecord>,
    /// The place where the list goes on; `None` at its end.
    pub next: Option<Text>,
}

impl RunPage {
    /// Returns a page.
    #[must_use]
    pub fn new(runs: Vec<RunRecord>, next: Option<Text>) -> Self {
        Self { runs, next }
    }
}
