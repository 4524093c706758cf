//! The nodes that the checks of owners use.

use std::time::Duration;

use forgeline_store::{LogKey, NodeId, RunWriter, StoredRun, Stores};

use super::suite::done;

/// The way in which the nodes of an engine die, for the checks of owners.
pub trait NodeControl {
    /// Returns `true` if several nodes may be alive at the same time. Without, each node except the one that asks counts as dead.
    fn has_many(&self) -> bool;

    /// Makes a node dead for the engine, as if its process had been killed long ago.
    fn kill(&self, node: &NodeId) -> impl Future<Output = ()>;
}

/// The control of an engine that one process at a time has, such as memory or a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct OneNode;

impl NodeControl for OneNode {
    fn has_many(&self) -> bool {
        false
    }

    async fn kill(&self, _: &NodeId) {}
}

/// The version of the state of all runs of the checks that say nothing else.
pub(super) const VERSION: u32 = 3;

pub(super) fn key(id: &str) -> LogKey {
    LogKey::new("team-a", id)
}

pub(super) fn run(id: &str) -> StoredRun {
    StoredRun::new(key(id), "c", "ann", "main", 1_000).version(VERSION)
}

/// Returns a node that is alive.
pub(super) async fn node(stores: &Stores, name: &str) -> Result<NodeId, String> {
    let node = NodeId::new(name);
    done("beat", stores.runs.beat(&node).await)?;
    Ok(node)
}

/// Begins a run that a node owns; returns the right to write it.
pub(super) async fn begun(stores: &Stores, id: &str, node: &NodeId) -> Result<RunWriter, String> {
    done("begin", stores.runs.begin(run(id), Some(node)).await)?;
    Ok(RunWriter::new(key(id), 1))
}

/// Claims a run that has no owner; returns the right to write it.
pub(super) async fn claimed(stores: &Stores, id: &str, node: &NodeId) -> Result<RunWriter, String> {
    let claimed = done("claim", stores.runs.claim(node, 99, VERSION).await)?;
    let found = claimed.iter().find(|run| run.key == key(id));
    found.map(StoredRun::writer).ok_or_else(|| format!("run {id} cannot be claimed: {claimed:?}"))
}

/// Gives a run back, to be claimed at once.
pub(super) async fn released(stores: &Stores, writer: &RunWriter) -> Result<(), String> {
    done("release", stores.runs.release(writer, Duration::ZERO).await)
}
