//! The right of this process to write a run, until another process takes it.

use std::{
    fmt::Display,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio_util::sync::CancellationToken;

use forgeline_store::{RunWriter, StoreError};

/// The right to write a run. The first write that the store refuses because of it cancels the run in this process, which then writes nothing more.
#[derive(Debug)]
pub(crate) struct RunFence {
    writer: RunWriter,
    cancel: CancellationToken,
    is_lost: AtomicBool,
    is_released: AtomicBool,
    lacks_room: AtomicBool,
}

impl RunFence {
    /// Returns the right of a claim, and the token that cancels the run.
    pub(crate) fn new(writer: RunWriter, cancel: CancellationToken) -> Self {
        Self {
            writer,
            cancel,
            is_lost: AtomicBool::new(false),
            is_released: AtomicBool::new(false),
            lacks_room: AtomicBool::new(false),
        }
    }

    pub(crate) fn writer(&self) -> &RunWriter {
        &self.writer
    }

    /// Returns `true` once the store has refused a write of the run.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Returns `true` if the right was given up because the run was released.
    pub(crate) fn is_released(&self) -> bool {
        self.is_released.load(Ordering::Acquire)
    }

    /// Returns the result of a write unchanged, and cancels the run if the right is lost.
    pub(crate) fn noted<T>(&self, written: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error @ StoreError::Fenced { .. }) = &written {
            self.lose(error);
        }
        if let Err(StoreError::Full { .. }) = &written {
            self.lacks_room.store(true, Ordering::Release);
        }
        written
    }

    /// Returns `true` once the store has refused a write of the run because it is full.
    pub(crate) fn lacks_room(&self) -> bool {
        self.lacks_room.load(Ordering::Acquire)
    }

    /// Gives the right up for this reason, and cancels the run in this process, which then writes nothing more.
    pub(crate) fn lose(&self, why: &dyn Display) {
        if !self.is_lost.swap(true, Ordering::AcqRel) {
            tracing::warn!(%why, run_id = %self.writer.run.name, "a run is stopped here");
            self.cancel.cancel();
        }
    }

    /// Gives the right up because the run was released.
    pub(crate) fn release(&self) {
        self.is_released.store(true, Ordering::Release);
        self.is_lost.store(true, Ordering::Release);
        self.cancel.cancel();
    }
}

/// Returns `true` for the error of a store that cannot be reached, did not answer in time, or cannot be written for now, as during a fail-over or while its
/// disk is full: the same write may succeed later.
pub(crate) fn is_outage(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Unavailable { .. }
            | StoreError::Slow { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Full { .. }
    )
}

/// Returns `true` for the error of a write after which its run goes on from what the store has: an outage, or a log or conversation that is shorter than
/// this process has written it, as after a fail-over to a server that lacked the newest writes.
pub(crate) fn is_setback(error: &StoreError) -> bool {
    is_outage(error) || matches!(error, StoreError::Behind { at, end, .. } if end < at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_store::LogKey;

    #[test]
    fn the_first_refused_write_cancels_the_run_and_other_errors_do_not() {
        let cancel = CancellationToken::new();
        let fence = RunFence::new(RunWriter::new(LogKey::new("a", "r"), 1), cancel.clone());
        for error in [StoreError::full("of 1 byte"), StoreError::ended("run", "r")] {
            assert_eq!(fence.noted::<()>(Err(error.clone())), Err(error));
            assert!(!fence.is_lost() && !cancel.is_cancelled());
        }
        assert!(fence.noted::<()>(Err(StoreError::fenced("r", 1))).is_err());
        assert!(fence.is_lost() && cancel.is_cancelled());
    }

    #[test]
    fn a_run_goes_on_from_a_log_that_is_shorter_and_not_from_one_that_is_longer() {
        let behind = |at, end| StoreError::behind("log", "r", at, end);
        assert!(is_setback(&behind(9, 7)) && !is_setback(&behind(7, 9)));
        assert!(!is_outage(&behind(9, 7)), "the same write does not succeed later");
    }
}
