//! The right of this process to write a run, until another process takes it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

use forgeline_store::{RunWriter, StoreError};

/// The right to write a run. The first write that the store refuses because of it cancels the run in this process, which then writes nothing more.
#[derive(Debug)]
pub(crate) struct RunFence {
    writer: RunWriter,
    cancel: CancellationToken,
    is_lost: AtomicBool,
}

impl RunFence {
    /// Returns the right of a claim, and the token that cancels the run.
    pub(crate) fn new(writer: RunWriter, cancel: CancellationToken) -> Self {
        Self { writer, cancel, is_lost: AtomicBool::new(false) }
    }

    pub(crate) fn writer(&self) -> &RunWriter {
        &self.writer
    }

    /// Returns `true` once the store has refused a write of the run.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Returns the result of a write unchanged, and cancels the run if the right is lost.
    pub(crate) fn noted<T>(&self, written: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error @ StoreError::Fenced { .. }) = &written
            && !self.is_lost.swap(true, Ordering::AcqRel)
        {
            tracing::warn!(%error, run_id = %self.writer.run.name, "a run is stopped here");
            self.cancel.cancel();
        }
        written
    }
}
