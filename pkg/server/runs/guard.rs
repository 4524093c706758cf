//! The end of a run whose reader goes away.

use tokio_util::sync::{CancellationToken, DropGuard};

/// Cancels a run when its reader goes away.
#[derive(Debug)]
pub(crate) struct Guard {
    guard: Option<DropGuard>,
}

impl Guard {
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self { guard: Some(cancel.drop_guard()) }
    }

    /// Leaves the run alone: its reader has read all.
    pub(crate) fn disarm(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.disarm();
        }
    }
}
