//! Latency records in memory.

use std::collections::VecDeque;

use crate::LatencyRecord;

/// Maximum number of scopes whose records are kept.
pub(super) const MAX_SCOPES: usize = 1_000;

/// The records of a scope.
#[derive(Debug, Default)]
pub(super) struct ScopeLatency {
    pub(super) kept: VecDeque<LatencyRecord>,
    pub(super) total: u64,
}
