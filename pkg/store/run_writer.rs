//! The right to write a run.

use std::fmt;

use super::{LogKey, StoreError, ids::new_id};
use forgeline_types::Text;

/// The id of a process that runs agents: a node of the service.
///
/// # Examples
///
/// ```
/// use forgeline::store::NodeId;
///
/// assert_ne!(NodeId::random(), NodeId::random());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(Text);

impl NodeId {
    /// Returns an id of 128 random bits, for a process that starts.
    #[must_use]
    pub fn random() -> Self {
        Self(new_id("node_"))
    }

    /// Returns the id with this text, as read from a store.
    #[must_use]
    pub fn new(id: impl Into<Text>) -> Self {
        Self(id.into())
    }

    /// Returns the text of the id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The runs that concern a node, as it learns when it says that it is alive.
///
/// # Examples
///
/// ```
/// use forgeline::store::{InMemoryStore, NodeId, NodeNews, RunStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let news = InMemoryStore::new().beat(&NodeId::random()).await?;
/// assert_eq!(news, NodeNews::new(0, false));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeNews {
    /// The number of runs that it owns and that have not ended.
    pub owned: u64,
    /// `false` if neither [`reap`](super::RunStore::reap) nor [`claim`](super::RunStore::claim) would find a run now.
    pub has_more: bool,
}

impl NodeNews {
    /// Returns the news of a node that owns this number of runs, and may find more.
    #[must_use]
    pub fn new(owned: u64, has_more: bool) -> Self {
        Self { owned, has_more }
    }
}

/// The number of requests and streams of a scope that are open at a node, or at several.
///
/// # Examples
///
/// ```
/// use forgeline::store::{InMemoryStore, NodeId, RunStore, ScopeConnections};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let own = vec![ScopeConnections::new("team-a", 7)];
/// let (_, elsewhere) = InMemoryStore::new().beat_with(&NodeId::random(), own).await?;
/// assert_eq!(elsewhere, Some(vec![]), "there is one node");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScopeConnections {
    /// The scope.
    pub scope: Text,
    /// The number of its open requests and streams.
    pub count: u64,
}

impl ScopeConnections {
    /// Returns the number of the connections of a scope.
    #[must_use]
    pub fn new(scope: impl Into<Text>, count: u64) -> Self {
        Self { scope: scope.into(), count }
    }
}

/// The right of one claim to write a run. Each write of the run states it: once the run was released, or another node has claimed it, the write fails with
/// [`StoreError::Fenced`] and changes nothing.
///
/// # Examples
///
/// ```
/// use forgeline::store::{LogKey, RunWriter};
///
/// let first = RunWriter::new(LogKey::new("team-a", "run_1"), 1);
/// let next = RunWriter::new(first.run.clone(), first.epoch + 1);
/// assert_ne!(first, next);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RunWriter {
    /// The key of the run, and of the log of its events.
    pub run: LogKey,
    /// The number of the claim. It grows with each claim, and whenever the run loses its owner; with 0, no node may write.
    pub epoch: u64,
}

impl RunWriter {
    /// Returns the right to write this run that the claim with this number gave.
    #[must_use]
    pub fn new(run: LogKey, epoch: u64) -> Self {
        Self { run, epoch }
    }

    /// Checks that the right holds, given the epoch of the run.
    pub(crate) fn check(&self, epoch: u64) -> Result<(), StoreError> {
        if self.epoch == epoch && epoch > 0 { Ok(()) } else { Err(self.fenced()) }
    }

    /// Checks that the right is one to write this log.
    pub(crate) fn check_log(&self, key: &LogKey) -> Result<(), StoreError> {
        if self.run == *key { Ok(()) } else { Err(self.fenced()) }
    }

    /// Returns the error of a right that no longer holds.
    pub(crate) fn fenced(&self) -> StoreError {
        StoreError::fenced(self.run.name.clone(), self.epoch)
    }
}
