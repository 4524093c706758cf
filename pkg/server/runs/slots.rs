//! The slots of active runs, and the queue for them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Limits;

/// The slots. A run that waits for a person has none.
#[derive(Debug)]
pub(crate) struct RunSlots {
    working: Arc<Semaphore>,
    /// The number of runs that work or wait for a slot.
    taken: AtomicUsize,
    /// The maximum number of runs that work, and of both together.
    limit: usize,
    most: usize,
}

/// A slot or a place in the queue; released on drop.
#[derive(Debug)]
pub(crate) struct RunSlot {
    places: Arc<RunSlots>,
    is_taken: bool,
    working: Option<OwnedSemaphorePermit>,
}

impl RunSlots {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        let working = Arc::new(Semaphore::new(limits.runs.min(Semaphore::MAX_PERMITS)));
        let most = limits.runs.saturating_add(limits.waiting_runs);
        Arc::new(Self { working, taken: AtomicUsize::new(0), limit: limits.runs, most })
    }

    /// Takes a place in the queue; `None` if the queue is full.
    pub(crate) fn queue(self: &Arc<Self>) -> Option<RunSlot> {
        let next = |taken| (taken < self.most).then_some(taken + 1);
        let taken = self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        taken.is_ok().then(|| RunSlot { places: Arc::clone(self), is_taken: true, working: None })
    }

    /// Returns a place outside the queue, which is taken once there is work, regardless of the length of the queue.
    pub(crate) fn beside(self: &Arc<Self>) -> RunSlot {
        RunSlot { places: Arc::clone(self), is_taken: false, working: None }
    }

    /// Closes the queue: runs in it no longer get a slot.
    pub(crate) fn close(&self) {
        self.working.close();
    }

    /// Returns the number of runs that could work besides those that do or wait for a slot.
    pub(crate) fn free(&self) -> usize {
        self.limit.saturating_sub(self.taken.load(Ordering::Acquire))
    }

    /// Returns the number of runs that work, and of those in the queue.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let taken = self.taken.load(Ordering::Acquire);
        let free = self.working.available_permits();
        let working = self.limit.saturating_sub(free).min(taken);
        (working, taken - working)
    }
}

impl RunSlot {
    /// Returns `true` while the run has a slot.
    pub(crate) fn is_working(&self) -> bool {
        self.working.is_some()
    }

    /// Waits for a slot; returns `false` if the queue was closed. A place that was left is taken again, regardless of the length of the queue.
    pub(crate) async fn work(&mut self) -> bool {
        if !self.is_taken {
            self.is_taken = true;
            self.places.taken.fetch_add(1, Ordering::AcqRel);
        }
        if self.working.is_none() {
            let working = Arc::clone(&self.places.working);
            self.working = working.acquire_owned().await.ok();
        }
        self.working.is_some()
    }

    /// Gives up the slot until there is work again.
    pub(crate) fn leave(&mut self) {
        self.working = None;
        if self.is_taken {
            self.is_taken = false;
            self.places.taken.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_place_that_is_left_is_anothers_until_it_is_taken_again() {
        let places = RunSlots::new(&Limits { runs: 1, waiting_runs: 1, ..Limits::default() });
        let (mut first, mut second) = (places.queue().unwrap(), places.queue().unwrap());
        assert!(first.work().await && places.queue().is_none());
        assert_eq!(places.counts(), (1, 1));
        first.leave();
        assert!(second.work().await);
        let third = places.queue().unwrap();
        assert_eq!(places.counts(), (1, 1));
        {
            let mut again = std::pin::pin!(first.work());
            assert!(
                std::future::poll_fn(|context| {
                    std::task::Poll::Ready(again.as_mut().poll(context).is_pending())
                })
                .await
            );
            assert_eq!(places.counts(), (1, 2), "it may come back to a full queue");
            drop(second);
            assert!(again.await);
        }
        drop((first, third));
        assert_eq!(places.counts(), (0, 0));
        places.close();
        assert!(!places.queue().unwrap().work().await);
    }
}
