//! Ids of runs.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use crate::types::Text;

/// Runs of this process so far.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// An id that no other run has: the time, the process and a count, such as `run-19ab3c-2f1-0`.
pub(super) fn next() -> Text {
    let count = RUNS.fetch_add(1, Ordering::Relaxed);
    Text::from(format!("run-{:x}-{:x}-{count:x}", now(), std::process::id()))
}

/// Milliseconds since the Unix epoch; 0 on a clock that stands before it.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
