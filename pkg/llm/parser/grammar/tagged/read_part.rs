//! The part of a piece that has been read.

use super::suspect_tag::SuspectPlace;

/// The part of a piece that has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadPart {
    All,
    /// From this byte on, more text is needed.
    Upto(usize),
    /// From this byte on, where a tag may be data, the end of the surrounding text decides.
    Suspect(usize, SuspectPlace),
    /// The call ended before this byte.
    Ended(usize),
}
