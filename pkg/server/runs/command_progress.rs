//! The commands of a run, as far as this node has executed them.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use forgeline_store::CommandStore;

/// The progress of this node in the commands of a run.
#[derive(Debug, Default)]
pub(crate) struct CommandProgress {
    /// The number from which on commands are looked for; locked while they are executed.
    next: Mutex<u64>,
    /// The number of the first command that may have been executed and has no answer yet.
    unanswered: AtomicU64,
    /// Cancelled once no more commands are executed.
    ends: CancellationToken,
}

impl CommandProgress {
    /// Waits until no other task executes commands; returns the number from which on commands are looked for.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, u64> {
        self.next.lock().await
    }

    /// Records that all commands before this number have an answer.
    pub(crate) fn answered_before(&self, number: u64) {
        self.unanswered.store(number, Ordering::Release);
    }

    /// Returns the number of the first command that may have been executed and has no answer yet.
    pub(crate) fn unanswered(&self) -> u64 {
        self.unanswered.load(Ordering::Acquire)
    }

    /// Returns the token that is cancelled once no more commands are executed.
    pub(crate) fn ends(&self) -> &CancellationToken {
        &self.ends
    }
}

/// The way to the node that works on a run, which is not this one or may become another one.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct OtherNode {
    /// The store in which it finds its commands.
    pub(crate) commands: Arc<dyn CommandStore>,
    /// `true` for a run that its user has left.
    pub(crate) is_left: bool,
    /// `true` for a run that works on this node until it is lost.
    pub(crate) is_after_loss: bool,
}

impl fmt::Debug for OtherNode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OtherNode").finish_non_exhaustive()
    }
}
