//! The numbers of a node of several.

use std::sync::atomic::{AtomicU64, AtomicUsize};

/// The numbers that a node reports.
#[derive(Debug, Default)]
pub(crate) struct NodeCounts {
    /// The runs that the node owned at the last look.
    pub(crate) owned: AtomicUsize,
    /// The runs that it claimed of nodes that had died.
    pub(crate) takeovers: AtomicU64,
    /// The runs that were stopped here because their right was lost.
    pub(crate) lost: AtomicU64,
    /// The beats that failed.
    pub(crate) failed_beats: AtomicU64,
    /// The events that its readers got by a look instead of by a notification.
    pub(crate) notify_late: AtomicU64,
}
