//! A guard that ends a run when its reader disconnects.

use tokio_util::sync::{CancellationToken, DropGuard};

/// A guard that cancels a run on drop, when its reader disconnects.
#[derive(Debug)]
pub(crate) struct RunGuard {
    guard: Option<DropGuard>,
}

impl RunGuard {
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self { guard: Some(cancel.drop_guard()) }
    }

    /// Disarms the guard: the reader has read everything.
    pub(crate) fn disarm(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.disarm();
        }
    }
}
