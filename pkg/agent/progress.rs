//! The progress of a run that is driven by its reader.

use std::{
    sync::Arc,
    task::{Wake, Waker},
};

use super::sync::{AtomicBool, AtomicWaker, Ordering};

/// Tells whether the run can go on: a stream that is read for its next event need not poll a run that
/// still waits.
pub(super) struct Progress {
    is_due: AtomicBool,
    reader: AtomicWaker,
}

impl Progress {
    /// Returns the progress of a run that was not polled yet.
    pub(super) fn new() -> Self {
        Self { is_due: AtomicBool::new(true), reader: AtomicWaker::new() }
    }

    /// Returns `true` when the run is to be polled; else `reader` is woken when it is.
    pub(super) fn is_due(&self, reader: &Waker) -> bool {
        // First: progress that comes in between wakes the reader.
        self.reader.register(reader);
        self.is_due.swap(false, Ordering::AcqRel)
    }
}

impl Wake for Progress {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Whoever made it due wakes the reader.
        if !self.is_due.swap(true, Ordering::AcqRel) {
            self.reader.wake();
        }
    }
}
