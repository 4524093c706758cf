//! The readers of a log that wait for its next record.

use std::task::Waker;

/// The wakers of readers, each in a slot of its own while it reads, so that a wait allocates and frees nothing.
#[derive(Debug, Default)]
pub(super) struct ReaderWakers {
    places: Vec<WakerSlot>,
    /// The slots whose readers wait, and the free ones.
    waiting: Vec<usize>,
    free: Vec<usize>,
}

#[derive(Debug, Default)]
struct WakerSlot {
    waker: Option<Waker>,
    /// The index among those that wait.
    waits_at: Option<usize>,
}

impl ReaderWakers {
    /// Returns `true` while there is a reader.
    pub(super) fn has_any(&self) -> bool {
        self.places.len() > self.free.len()
    }

    /// Takes a slot.
    pub(super) fn enter(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.places.push(WakerSlot::default());
            self.places.len() - 1
        })
    }

    /// Lets the reader of a slot wait for the next change. Returns the previous waker, which must be dropped without a lock: dropping it may drop the task
    /// that it wakes.
    #[must_use]
    pub(super) fn wait(&mut self, at: usize, waker: &Waker) -> Option<Waker> {
        let place = self.places.get_mut(at)?;
        if place.waits_at.is_none() {
            place.waits_at = Some(self.waiting.len());
            self.waiting.push(at);
        }
        if place.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            return None;
        }
        place.waker.replace(waker.clone())
    }

    /// Wakes the waiting readers.
    pub(super) fn wake(&mut self) {
        for at in self.waiting.drain(..) {
            if let Some(WakerSlot { waker: Some(waker), waits_at }) = self.places.get_mut(at) {
                *waits_at = None;
                waker.wake_by_ref();
            }
        }
    }

    /// Frees a slot; returns its waker, as [`wait`](Self::wait) does.
    #[must_use]
    pub(super) fn leave(&mut self, at: usize) -> Option<Waker> {
        let place = self.places.get_mut(at)?;
        let waker = place.waker.take();
        if let Some(hole) = place.waits_at.take() {
            self.waiting.swap_remove(hole);
            // The last waiting slot has moved here.
            let moved = self.waiting.get(hole).and_then(|moved| self.places.get_mut(*moved));
            if let Some(moved) = moved {
                moved.waits_at = Some(hole);
            }
        }
        self.free.push(at);
        waker
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::Wake,
    };

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn those_that_wait_are_woken_once_and_those_that_left_are_not() {
        let all: Vec<Arc<Woken>> = (0..6).map(|_| Arc::default()).collect();
        let mut readers = ReaderWakers::default();
        let places: Vec<_> = all.iter().map(|_| readers.enter()).collect();
        assert_eq!(places, [0, 1, 2, 3, 4, 5]);
        for (at, woken) in all.iter().enumerate().take(5) {
            for _ in 0..3 {
                drop(readers.wait(at, &Waker::from(Arc::clone(woken))));
            }
        }
        for gone in [1, 4, 0] {
            drop(readers.leave(gone));
        }
        assert_eq!(readers.waiting.len(), 2);
        readers.wake();
        readers.wake();
        let counts = || all.iter().map(|woken| woken.0.load(Ordering::Relaxed)).collect::<Vec<_>>();
        assert_eq!(counts(), [0, 0, 1, 1, 0, 0]);
        // A place that is taken again is another reader's.
        let again = readers.enter();
        assert_eq!((again, readers.places.len()), (0, 6));
        drop(readers.wait(again, &Waker::from(Arc::clone(&all[5]))));
        readers.wake();
        assert_eq!(counts(), [0, 0, 1, 1, 0, 1]);
        assert_eq!(Arc::strong_count(&all[1]), 1, "a waker of one that left is dropped");
    }
}
