//! The run store.

use std::time::Duration;

use super::{
    ConversationKey, EraseMode, LogKey, NodeId, NodeNews, RunChange, RunPlace, RunProgress,
    RunWriter, ScopeConnections, StoreFuture, StoredRun,
};
use forgeline_types::{Text, setters};

/// Number of runs read at a time for [`RunStore::open_in`].
const PAGE: usize = 100;

/// Runs by scope and id: their data, their progress, their owners, and what a process needs to resume them.
///
/// Each run is owned by one node or by none. A node that begins or claims a run may write it, with the number of the claim (the epoch of its
/// [`RunWriter`]); each claim, release and reaping makes the number larger, so that earlier owners write nothing more. Times are those of the store's clock:
/// no clocks of two nodes are compared. In memory and in a file there is one node at a time, and another node's runs are those of an earlier process.
///
/// Every operation completes within 10 s, if necessary with [`StoreError::Slow`](crate::StoreError::Slow).
///
/// # Cancel safety
///
/// If a future is dropped, its changes are made either completely or not at all.
pub trait RunStore: Send + Sync + 'static {
    /// Returns `true` if the next process finds what this one has written: a service that shuts down then leaves its runs to it instead of cancelling
    /// them. Default: `true`.
    fn outlives_process(&self) -> bool {
        true
    }

    /// Returns `true` if several nodes at a time use the store: a service then beats each second, reaps and claims what the beat tells it of, hands its
    /// runs over when it shuts down, and expects other writers in its conversations. Default: `false`.
    fn is_shared(&self) -> bool {
        false
    }

    /// Adds a run, unless the owner has already used the key of its request. With a node, it owns the run with epoch 1; without, the run has epoch 0 and can
    /// be [claimed](Self::claim).
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Exists`](crate::StoreError::Exists) if there is a run with this id.
    fn begin<'a>(&'a self, run: StoredRun, node: Option<&'a NodeId>) -> StoreFuture<'a, RunBegun>;

    /// Adds a run as [`begin`](Self::begin) does, unless `most` runs of its scope have not ended, on whichever node: then it is
    /// [`TooMany`](RunBegun::TooMany). A request whose key was used before is answered first.
    ///
    /// Runs that begin at the same moment may not see each other: a scope has at most as many more as statements of all nodes are under way.
    ///
    /// The default has no limit, for a store that one node uses: the node counts its runs itself.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`begin`](Self::begin).
    fn begin_within<'a>(
        &'a self,
        run: StoredRun,
        node: Option<&'a NodeId>,
        most: usize,
    ) -> StoreFuture<'a, RunBegun> {
        let _ = most;
        self.begin(run, node)
    }

    /// Returns the run that a request of this owner with this key started, if any.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn of_request<'a>(
        &'a self,
        scope: &'a str,
        owner: &'a str,
        request: &'a str,
    ) -> StoreFuture<'a, Option<StoredRun>>;

    /// Returns a run.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`](crate::StoreError::NotFound) if there is no such run.
    fn get<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, StoredRun>;

    /// Changes a run and its notes. A run that ends loses its input and its notes.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NotFound`](crate::StoreError::NotFound), [`StoreError::Fenced`](crate::StoreError::Fenced) if the writer no longer owns the run, or
    /// [`StoreError::Ended`](crate::StoreError::Ended) if the run has ended.
    fn change<'a>(&'a self, writer: &'a RunWriter, change: RunChange) -> StoreFuture<'a, ()>;

    /// Records that a node is alive; call this each second. A node that has not done so for 10 s counts as dead, and loses its runs. Returns the number of
    /// runs that it owns, and whether there are some to reap or to claim: a node for which there are none needs nothing more in this second.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn beat<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, NodeNews>;

    /// Records that a node is alive, as [`beat`](Self::beat) does, and the number of connections that scopes have there. Returns also those that they have
    /// at the other nodes which are alive, or `None` if they could not be read this time.
    ///
    /// The default records none and returns none, for a store that one node uses.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn beat_with<'a>(
        &'a self,
        node: &'a NodeId,
        connections: Vec<ScopeConnections>,
    ) -> StoreFuture<'a, (NodeNews, Option<Vec<ScopeConnections>>)> {
        drop(connections);
        Box::pin(async move { self.beat(node).await.map(|news| (news, Some(Vec::new()))) })
    }

    /// Claims at most `most` runs for a node, in the order in which they were created: runs that have no owner, have not ended, may be claimed
    /// [by now](StoredRun::not_before_ms), and have a state of `version` or an earlier one. Each is returned with its new epoch; its state has `version` from
    /// then on. If several nodes claim a run, one of them gets it.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, runs may have been claimed; [`owned`](Self::owned) returns them.
    fn claim<'a>(
        &'a self,
        node: &'a NodeId,
        most: usize,
        version: u32,
    ) -> StoreFuture<'a, Vec<StoredRun>>;

    /// Takes the runs of dead nodes away from them, so that they can be claimed: each loses its owner, and has one more of
    /// [`takeovers`](StoredRun::takeovers). Returns their keys, at most 1,000 at a time. The runs of `node`, which calls this, and of nodes that are alive
    /// stay.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn reap<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<LogKey>>;

    /// Gives a run back: it has no owner, and another node may claim it once `wait` is over. It begins to count its [takeovers](StoredRun::takeovers) anew.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`change`](Self::change).
    fn release<'a>(&'a self, writer: &'a RunWriter, wait: Duration) -> StoreFuture<'a, ()>;

    /// Returns the rights of a node to write runs that have not ended, in the order in which these were created.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn owned<'a>(&'a self, node: &'a NodeId) -> StoreFuture<'a, Vec<RunWriter>>;

    /// Returns at most `most` runs of all scopes that have not ended, in the order in which they were created.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn open(&self, most: usize) -> StoreFuture<'_, Vec<StoredRun>>;

    /// Returns the runs of a conversation that have not ended, by the time they were created and their ids: no more of each than its place and its state,
    /// since a run that waits for its turn looks at the others often. The default reads the pages of [`list`](Self::list).
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn open_in<'a>(&'a self, conversation: &'a ConversationKey) -> StoreFuture<'a, Vec<RunPlace>> {
        Box::pin(async move {
            let query = RunQuery::new(conversation.scope.clone(), PAGE);
            let mut query = query.conversation(conversation.id.clone());
            let mut open = Vec::new();
            loop {
                let page = self.list(query.clone()).await?;
                let found = page.runs.iter().filter(|run| !run.progress.has_ended());
                open.extend(found.map(RunPlace::of));
                if page.next.is_none() {
                    open.reverse();
                    return Ok(open);
                }
                query.after = page.next;
            }
        })
    }

    /// Returns the runs of a scope, newest first.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::BadCursor`](crate::StoreError::BadCursor) if `after` is not the `next` of a page.
    fn list(&self, query: RunQuery) -> StoreFuture<'_, RunPage>;

    /// Deletes the runs that ended before `before_ms`, and the oldest of the other ended runs beyond the number `keep`; returns their keys, at most 1,000
    /// at a time, so that the caller can retire their logs.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn sweep(&self, before_ms: u64, keep: u64) -> StoreFuture<'_, Vec<LogKey>>;

    /// Deletes a run; returns `false` if there was none.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn delete<'a>(&'a self, key: &'a LogKey) -> StoreFuture<'a, bool>;

    /// Erases the runs of an owner in a scope, and returns their number; an owner with an empty name has none. With [`Tombstone`](EraseMode::Tombstone),
    /// the progress, the times and the token usage are kept.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    fn erase<'a>(&'a self, scope: &'a str, owner: &'a str, mode: EraseMode)
    -> StoreFuture<'a, u64>;
}

/// The outcome of adding a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunBegun {
    /// The run was added.
    New,
    /// An earlier request with the same key and digest started this run.
    Same(Box<StoredRun>),
    /// An earlier request with the same key was different.
    Other,
    /// The run was not added: as many runs of its scope as it may have, have not ended.
    TooMany,
}

impl RunBegun {
    /// Returns the outcome for a run whose request has the key of the request of an earlier one.
    pub(crate) fn of_repeated(earlier: StoredRun, run: &StoredRun) -> Self {
        if earlier.request == run.request { Self::Same(Box::new(earlier)) } else { Self::Other }
    }
}

/// The filter and position of a list of runs.
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
    /// The owner to list, if only one.
    pub owner: Option<Text>,
    /// The conversation to list, if only one.
    pub conversation: Option<Text>,
    /// The name of the agent to list, if only one.
    pub agent: Option<Text>,
    /// The progress to list, if only one.
    pub progress: Option<RunProgress>,
    /// The time at or after which the runs were created, in milliseconds since the Unix epoch.
    pub since_ms: Option<u64>,
    /// The [`next`](RunPage::next) of the previous page.
    pub after: Option<Text>,
    /// The maximum number of runs of the page.
    pub most: usize,
}

impl RunQuery {
    /// Returns a query for the first page of a scope.
    #[must_use]
    pub fn new(scope: impl Into<Text>, most: usize) -> Self {
        Self {
            scope: scope.into(),
            owner: None,
            conversation: None,
            agent: None,
            progress: None,
            since_ms: None,
            after: None,
            most,
        }
    }

    setters! {
        RunQuery:
        owner(some into Text),
        conversation(some into Text),
        agent(some into Text),
        progress(some RunProgress),
        since_ms(some u64),
        after(some into Text),
    }
}

/// A page of a list of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<StoredRun>,
    /// The position where the list continues; `None` at its end.
    pub next: Option<Text>,
}

impl RunPage {
    /// Returns a page.
    #[must_use]
    pub fn new(runs: Vec<StoredRun>, next: Option<Text>) -> Self {
        Self { runs, next }
    }
}
