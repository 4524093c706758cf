//! The retention of what is over.

pub(super) mod erase;
pub(super) mod sweep;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::store::Retention;

/// The retention of runs that have ended, and of their events. Conversations stay until they are deleted.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use forgeline::server::Keep;
///
/// let mut keep = Keep::default();
/// assert_eq!((keep.age, keep.runs), (Some(Duration::from_hours(30 * 24)), 100_000));
/// keep.bytes = Some(1 << 30);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Keep {
    /// The time for which the events of a run are kept behind its end; `None` for ever. Default: 30 days.
    pub age: Option<Duration>,
    /// Most bytes of the events of runs that have ended, with those of closed streams; beyond it the oldest go. What is open does not count.
    /// Default: no limit but that of the store.
    pub bytes: Option<u64>,
    /// Most runs; beyond it the oldest go, with their events. Default: 100,000.
    pub runs: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Self { age: Some(Duration::from_hours(30 * 24)), bytes: None, runs: 100_000 }
    }
}

impl Keep {
    /// Returns what logs are kept at this time.
    pub(crate) fn retention(&self, now_ms: u64) -> Retention {
        let mut keep = Retention::all();
        let age = self.age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        keep.closed_before_ms = age.map(|age| now_ms.saturating_sub(age));
        keep.max_bytes = self.bytes;
        keep
    }
}

/// The task that sweeps, which ends with the service.
#[derive(Debug, Default)]
pub(crate) struct Sweeping {
    has_begun: AtomicBool,
    ends: CancellationToken,
}

impl Sweeping {
    /// Returns what ends the task, to the first who asks.
    pub(crate) fn begin(&self) -> Option<CancellationToken> {
        let has_begun = self.has_begun.swap(true, Ordering::AcqRel);
        (!has_begun).then(|| self.ends.clone())
    }

    pub(crate) fn end(&self) {
        self.ends.cancel();
    }
}

impl Drop for Sweeping {
    fn drop(&mut self) {
        self.ends.cancel();
    }
}
