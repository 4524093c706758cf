//! The order of the runs of a conversation.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::watch;

/// The runs of a conversation that have not ended, in start order: the first is active or waits for a person, and the others wait for it.
#[derive(Debug, Clone)]
pub(crate) struct RunOrder(Arc<watch::Sender<TurnQueue>>);

#[derive(Debug, Default)]
struct TurnQueue {
    next: u64,
    waiting: VecDeque<u64>,
}

/// A position in the order; given up on drop.
#[derive(Debug)]
pub(crate) struct RunTurn {
    turns: RunOrder,
    number: u64,
}

/// A watch for changes of the order.
#[derive(Debug)]
pub(crate) struct OrderWatch(watch::Receiver<TurnQueue>);

impl OrderWatch {
    /// Waits until the order has changed since the last call, or since the watch began.
    pub(crate) async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            // Nothing changes any more.
            std::future::pending::<()>().await;
        }
    }
}

impl Default for RunOrder {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(TurnQueue::default())))
    }
}

impl RunOrder {
    /// Takes the next position.
    pub(crate) fn take(&self) -> RunTurn {
        let mut number = 0;
        self.0.send_modify(|queue| {
            number = queue.next;
            queue.next += 1;
            queue.waiting.push_back(number);
        });
        RunTurn { turns: self.clone(), number }
    }
}

impl RunTurn {
    /// Returns `true` if all runs before it have ended.
    pub(crate) fn is_first(&self) -> bool {
        self.turns.0.borrow().waiting.front() == Some(&self.number)
    }

    /// Returns a watch for changes of the order from now on.
    pub(crate) fn watch(&self) -> OrderWatch {
        OrderWatch(self.turns.0.subscribe())
    }

    /// Waits until all runs before it have ended.
    pub(crate) async fn comes(&self) {
        let mut queue = self.turns.0.subscribe();
        // The sender is alive, so this cannot fail.
        drop(queue.wait_for(|queue| queue.waiting.front() == Some(&self.number)).await);
    }
}

impl Drop for RunTurn {
    fn drop(&mut self) {
        self.turns.0.send_modify(|queue| queue.waiting.retain(|number| *number != self.number));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn turns_come_in_the_order_in_which_they_were_taken_whoever_asks_first() {
        let turns = RunOrder::default();
        let mut all: VecDeque<_> = (0..4).map(|_| turns.take()).collect();
        while let Some(first) = all.pop_front() {
            assert!(first.is_first() && first.comes().now_or_never().is_some());
            assert!(all.iter().rev().all(|turn| turn.comes().now_or_never().is_none()));
            // One that leaves the middle is not waited for, and lets no one pass.
            drop(all.remove(1));
            assert!(all.iter().all(|turn| !turn.is_first()));
        }
        assert!(turns.take().is_first());
    }
}
