//! Ids of runs, and times.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::time::Instant;

use crate::types::Text;

/// The number of runs of this process so far.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// Returns an id that no other run has, of the time, the process and a count: `run-19ab3c-2f1-0`.
pub(super) fn next_run_id() -> Text {
    let count = RUNS.fetch_add(1, Ordering::Relaxed);
    Text::from(format!("run-{:x}-{:x}-{count:x}", now(), std::process::id()))
}

/// Returns the milliseconds since the Unix epoch; 0 on a clock before it.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the milliseconds since an instant.
pub(super) fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
