//! Markers that another parser looks for in the same text.

use crate::llm::parser::{marker::MarkerSet, scan::Stops};

/// Markers of another parser that are looked for in the same text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Foreign<'a> {
    pub(crate) markers: &'a MarkerSet,
    /// The number of them that count now.
    pub(crate) count: usize,
    /// Those from this number on count in code too.
    pub(crate) first_closer: usize,
    /// The bytes where these and the dialect's own may begin.
    pub(crate) stops: &'a Stops,
}
