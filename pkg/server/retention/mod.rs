//! The retention of data that is no longer in use.

mod audit_sweep;
pub(super) mod erase;
pub(super) mod sweep;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    audit::AuditTrail, conversations::directory::ConversationDirectory, durable::HostStreams,
    runs::directory::RunDirectory,
};
use forgeline_store::{Retention, Stores};
use forgeline_types::Text;

/// The retention of ended runs and their events. Conversations are kept until they are deleted.
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
    /// The time for which the events of a run are kept after its end; `None` to keep them forever. Default: 30 days.
    pub age: Option<Duration>,
    /// Maximum size of the events of ended runs and of closed streams together, in bytes; beyond it, the oldest are removed. Open logs do not count.
    /// Default: no limit except that of the store.
    pub bytes: Option<u64>,
    /// The time for which audit rows are kept; `None` to keep them forever. Default: forever.
    pub audit_age: Option<Duration>,
    /// Maximum number of audit rows of each scope; beyond it, the oldest are removed. Default: 1,000,000.
    pub audit_rows: u64,
    /// Maximum number of runs; beyond it, the oldest are removed with their events. Default: 100,000.
    pub runs: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Self {
            age: Some(Duration::from_hours(30 * 24)),
            bytes: None,
            audit_age: None,
            audit_rows: 1_000_000,
            runs: 100_000,
        }
    }
}

impl Keep {
    /// Returns the retention of logs at this time.
    pub(crate) fn retention(&self, now_ms: u64) -> Retention {
        let mut keep = Retention::all();
        let age = self.age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        keep.closed_before_ms = age.map(|age| now_ms.saturating_sub(age));
        keep.max_bytes = self.bytes;
        keep
    }
}

/// Deletes what is no longer kept, from the stores and from memory.
pub(crate) struct DataRetention {
    pub(super) stores: Stores,
    pub(super) runs: Arc<RunDirectory>,
    pub(super) conversations: Arc<ConversationDirectory>,
    pub(super) streams: Arc<HostStreams>,
    pub(super) audit: Arc<AuditTrail>,
    /// The scope whose audit rows the last sweep looked at last; `None` to begin anew.
    pub(super) audit_swept: Mutex<Option<Text>>,
    pub(super) keep: Keep,
    pub(super) sweeping: SweepTask,
    pub(super) tasks: TaskTracker,
}

impl DataRetention {
    /// Ends the sweeping task.
    pub(crate) fn end_sweeping(&self) {
        self.sweeping.end();
    }
}

/// The sweeping task, which ends with the service.
#[derive(Debug, Default)]
pub(crate) struct SweepTask {
    has_begun: AtomicBool,
    ends: CancellationToken,
}

impl SweepTask {
    /// Returns the token that ends the task, to the first caller only.
    pub(crate) fn begin(&self) -> Option<CancellationToken> {
        let has_begun = self.has_begun.swap(true, Ordering::AcqRel);
        (!has_begun).then(|| self.ends.clone())
    }

    pub(crate) fn end(&self) {
        self.ends.cancel();
    }
}

impl Drop for SweepTask {
    fn drop(&mut self) {
        self.ends.cancel();
    }
}
