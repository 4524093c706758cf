//! The progress of a run that is driven by its reader.

use std::{
    sync::Arc,
    task::{Wake, Waker},
};

use super::sync::{AtomicBool, AtomicWaker, Ordering};

/// A flag for whether the run can continue: a stream polled for its next event need not poll a run
/// that is still waiting.
pub(super) struct RunProgress {
    is_due: AtomicBool,
    reader: AtomicWaker,
}

impl RunProgress {
    /// Returns the progress of a run that has not been polled yet.
    pub(super) fn new() -> Self {
        Self { is_due: AtomicBool::new(true), reader: AtomicWaker::new() }
    }

    /// Returns `true` when the run is to be polled; otherwise `reader` is woken once it is.
    pub(super) fn is_due(&self, reader: &Waker) -> bool {
        // Registered first, so that progress in between wakes the reader.
        self.reader.register(reader);
        self.is_due.swap(false, Ordering::AcqRel)
    }
}

impl Wake for RunProgress {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The first call that sets the flag wakes the reader.
        if !self.is_due.swap(true, Ordering::AcqRel) {
            self.reader.wake();
        }
    }
}
