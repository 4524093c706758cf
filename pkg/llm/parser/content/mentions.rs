//! Openers that turned out to be text.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The markers of another parser that were text: the next closer of each is text too.
#[derive(Debug, Default)]
pub(crate) struct MentionCount(AtomicU64);

impl MentionCount {
    /// Records that marker `which` was text.
    pub(crate) fn note(&self, which: usize) {
        self.0.fetch_or(bit(which), Relaxed);
    }

    /// Returns `true` if marker `which` was recorded as text, and clears the record.
    pub(crate) fn take(&self, which: usize) -> bool {
        self.0.fetch_and(!bit(which), Relaxed) & bit(which) != 0
    }
}

fn bit(which: usize) -> u64 {
    u32::try_from(which).ok().and_then(|which| 1_u64.checked_shl(which)).unwrap_or(0)
}
