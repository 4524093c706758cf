//! Markers that another parser looks for in the same text.

use crate::llm::parser::{marker::MarkerSet, scan::Stops};

/// Markers of somebody else that are looked for in the same text.
#[derive(Debug, Clone, Copy)]
pub(in crate::llm::parser) struct Foreign<'a> {
    pub(in crate::llm::parser) markers: &'a MarkerSet,
    /// How many of them count now.
    pub(in crate::llm::parser) count: usize,
    /// Those from this number on count in code too.
    pub(in crate::llm::parser) first_closer: usize,
    /// Where these and the dialect's own may begin.
    pub(in crate::llm::parser) stops: &'a Stops,
}
