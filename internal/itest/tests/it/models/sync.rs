//! What the checker puts in the place of the library's own.

use std::task::Waker;

use loom::sync::Mutex;
pub(super) use loom::sync::atomic::{AtomicBool, Ordering};

/// The waker of a task that waits.
pub(super) struct AtomicWaker(Mutex<Option<Waker>>);

impl AtomicWaker {
    pub(super) fn new() -> Self {
        Self(Mutex::new(None))
    }

    pub(super) fn register(&self, waker: &Waker) {
        let before = self.0.lock().unwrap().replace(waker.clone());
        drop(before);
    }

    pub(super) fn wake(&self) {
        let waker = self.0.lock().unwrap().take();
        waker.into_iter().for_each(Waker::wake);
    }
}
