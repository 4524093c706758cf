//! Errors in descriptions.

/// Maximum number of markers in one dialect: sets of markers are indexed by bytes.
pub(super) const MAX_MARKERS: usize = 64;
/// Maximum number of line ends that may belong to a marker, at each place.
pub(super) const MAX_FRAMING: u8 = 8;

/// The reason why a description cannot become a dialect.
///
/// Markers are spelled as they were given to the builder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialectError {
    /// There is no form of a call, and no section of reasoning.
    #[error("the dialect has neither a call nor a section; add one")]
    Empty,
    /// A call or a section that requires a closer has none.
    #[error("the opener {opener:?} has no closer; give at least one")]
    #[non_exhaustive]
    NoCloser {
        /// The opener of the section.
        opener: String,
    },
    /// A call without a closer has a grammar that does not itself determine where the call ends.
    #[error(
        "the opener {opener:?} needs a closer, because its grammar does not end by itself; add one"
    )]
    #[non_exhaustive]
    NoEnd {
        /// The opener of the call.
        opener: String,
    },
    /// A marker is shorter than 2 bytes or longer than 96.
    #[error("the marker {marker:?} has {} bytes; expected 2 to 96", marker.len())]
    #[non_exhaustive]
    Length {
        /// The marker.
        marker: String,
    },
    /// A marker begins with a space, a line end, a backtick or a tilde: line ends and code are
    /// tracked separately from markers.
    #[error(
        "the marker {marker:?} begins with whitespace, a backtick or a tilde; choose one that begins with another character"
    )]
    #[non_exhaustive]
    Start {
        /// The marker.
        marker: String,
    },
    /// There are more than 64 markers.
    #[error("the dialect has {count} markers; expected at most {MAX_MARKERS}")]
    #[non_exhaustive]
    TooMany {
        /// The number of markers.
        count: usize,
    },
    /// A marker has two meanings; choose another marker for one of them at the same place.
    #[error("the marker {marker:?} has two meanings; choose another marker for one of them")]
    #[non_exhaustive]
    Repeated {
        /// The marker.
        marker: String,
    },
    /// A marker is contained in another one, so that the beginning of one could be the other.
    #[error(
        "the marker {outer:?} contains the marker {inner:?}; choose markers of which none contains another"
    )]
    #[non_exhaustive]
    Nested {
        /// The longer marker.
        outer: String,
        /// The marker contained in it.
        inner: String,
    },
    /// A marker could be part of a payload: a closer begins with a text that a payload may end with, or a
    /// marker consists only of brackets, quotes, commas and colons.
    #[error(
        "the marker {marker:?} may be a part of a payload; choose one that no payload contains"
    )]
    #[non_exhaustive]
    InPayload {
        /// The marker.
        marker: String,
    },
    /// A required part of a grammar is empty, or does not have the required form.
    #[error("the grammar of the opener {opener:?} has no {part}; add it")]
    #[non_exhaustive]
    Part {
        /// The opener of the call.
        opener: String,
        /// A description of the missing part.
        part: &'static str,
    },
    /// More than 8 line ends would belong to a marker.
    #[error("{count} line ends belong to a marker; expected at most {MAX_FRAMING}")]
    #[non_exhaustive]
    MarkerFraming {
        /// The number of line ends.
        count: u8,
    },
    /// There is no example, or it contains no call, or an incomplete one.
    #[error(
        "the example is missing or not read as complete calls in this dialect; give one with at least one whole call"
    )]
    Example,
}
