//! The state of this process as a node.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::metrics::node_counts::NodeCounts;
use forgeline_store::{LogKey, RunWriter};

/// Time after which a node that could not say that it is alive counts as dead to the others.
const LIFETIME: Duration = Duration::from_secs(10);

/// The state of this process as one of several nodes that share a store. In a process with a store of its own, nothing changes it.
#[derive(Debug, Default)]
pub(crate) struct NodeMembership {
    has_begun: AtomicBool,
    /// Ends the tasks of the node.
    ends: CancellationToken,
    /// The time of the last beat, or of the beginning.
    beaten: Mutex<Option<Instant>>,
    /// The runs that begin or are being resumed here: they are owned and not in memory yet.
    in_hand: Arc<Mutex<HashMap<LogKey, usize>>>,
    /// The runs that were owned and not held at the last look.
    unheld: Mutex<Vec<RunWriter>>,
    pub(crate) counts: NodeCounts,
}

/// A run in hand; let go on drop.
#[derive(Debug)]
pub(crate) struct RunInHand {
    in_hand: Arc<Mutex<HashMap<LogKey, usize>>>,
    key: LogKey,
}

impl NodeMembership {
    /// Returns the token that ends the tasks of the node, to the first caller only.
    pub(super) fn begin(&self) -> Option<CancellationToken> {
        let has_begun = self.has_begun.swap(true, Ordering::AcqRel);
        (!has_begun).then(|| {
            *lock(&self.beaten) = Some(Instant::now());
            self.ends.clone()
        })
    }

    /// Ends the tasks of the node.
    pub(crate) fn end(&self) {
        self.ends.cancel();
    }

    /// Records a beat.
    pub(super) fn beaten(&self) {
        *lock(&self.beaten) = Some(Instant::now());
    }

    /// Returns `true` if the other nodes may take this one for dead.
    pub(crate) fn is_late(&self) -> bool {
        lock(&self.beaten).is_some_and(|beaten| beaten.elapsed() > LIFETIME)
    }

    /// Returns the numbers to report; `None` before the node has begun.
    pub(super) fn reported(&self) -> Option<&NodeCounts> {
        self.has_begun.load(Ordering::Acquire).then_some(&self.counts)
    }

    /// Takes a run in hand.
    pub(crate) fn take(&self, key: LogKey) -> RunInHand {
        *lock(&self.in_hand).entry(key.clone()).or_default() += 1;
        RunInHand { in_hand: Arc::clone(&self.in_hand), key }
    }

    /// Returns `true` while a run is in hand.
    pub(super) fn has_in_hand(&self, key: &LogKey) -> bool {
        lock(&self.in_hand).contains_key(key)
    }

    /// Records the runs that are owned and not held; returns those for which this was so at the last look, too.
    pub(super) fn unheld_again(&self, unheld: Vec<RunWriter>) -> Vec<RunWriter> {
        let mut last = lock(&self.unheld);
        let again = unheld.iter().filter(|writer| last.contains(writer)).cloned().collect();
        *last = unheld;
        again
    }
}

impl Drop for NodeMembership {
    fn drop(&mut self) {
        self.ends.cancel();
    }
}

impl Drop for RunInHand {
    fn drop(&mut self) {
        let mut in_hand = lock(&self.in_hand);
        if let Some(count) = in_hand.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                in_hand.remove(&self.key);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(name: &str, epoch: u64) -> RunWriter {
        RunWriter::new(LogKey::new("team-a", name), epoch)
    }

    #[test]
    fn a_run_is_unheld_only_if_it_was_so_at_two_looks_in_a_row() {
        let node = NodeMembership::default();
        let (one, other) = (writer("one", 1), writer("other", 1));
        assert!(node.unheld_again(vec![one.clone()]).is_empty());
        assert!(node.unheld_again(vec![other.clone()]).is_empty());
        assert!(node.unheld_again(vec![one.clone(), writer("other", 2)]).is_empty(), "a new claim");
        assert_eq!(node.unheld_again(vec![one.clone(), other]), [one]);
    }

    #[test]
    fn a_run_is_in_hand_until_all_have_let_it_go() {
        let node = NodeMembership::default();
        let key = writer("one", 1).run;
        let (first, second) = (node.take(key.clone()), node.take(key.clone()));
        drop(first);
        assert!(node.has_in_hand(&key));
        drop(second);
        assert!(!node.has_in_hand(&key));
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_is_late_10_s_after_its_last_beat() {
        let node = NodeMembership::default();
        assert!(!node.is_late() && node.reported().is_none());
        assert!(node.begin().is_some() && node.begin().is_none() && node.reported().is_some());
        tokio::time::advance(LIFETIME).await;
        assert!(!node.is_late());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(node.is_late());
        node.beaten();
        assert!(!node.is_late());
    }
}
