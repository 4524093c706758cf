//! Latency records in memory.

use std::collections::{HashMap, VecDeque};

use crate::LatencyRecord;
use forgeline_types::Text;

/// Maximum number of scopes whose records are kept.
pub(super) const MAX_SCOPES: usize = 1_000;

/// Records by scope.
#[derive(Debug, Default)]
pub(super) struct Latencies(pub(super) HashMap<Text, Records>);

#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) kept: VecDeque<LatencyRecord>,
    pub(super) total: u64,
}
