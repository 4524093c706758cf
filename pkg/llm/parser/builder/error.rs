//! The errors of descriptions.

/// Most markers of one dialect: sets of markers are indexed by bytes.
pub(super) const MAX_MARKERS: usize = 64;
/// Most line ends that may belong to a marker, at each place.
pub(super) const MAX_FRAMING: u8 = 8;

/// The reason why a description cannot become a dialect.
///
/// A marker is spelled as it was given to the builder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialectError {
    /// No form of a call was given, or no section of reasoning.
    #[error("the dialect has neither a call nor a section")]
    Empty,
    /// A call or a section that has to be closed was given no closer.
    #[error("the opener {opener:?} has no closer")]
    NoCloser {
        /// The opener of the section.
        opener: String,
    },
    /// A call without a closer is of a grammar that does not say itself where it ends.
    #[error("the opener {opener:?} needs a closer: its grammar does not end by itself")]
    NoEnd {
        /// The opener of the call.
        opener: String,
    },
    /// A marker is shorter than 2 bytes or longer than 96.
    #[error("the marker {marker:?} has {} bytes; expected 2 to 96", marker.len())]
    Length {
        /// The marker.
        marker: String,
    },
    /// A marker begins with a blank or a line end, a backtick or a tilde: line ends and code are
    /// followed apart from markers.
    #[error("the marker {marker:?} begins with whitespace, a backtick or a tilde")]
    Start {
        /// The marker.
        marker: String,
    },
    /// There are more than 64 markers.
    #[error("the dialect has {count} markers; expected at most {MAX_MARKERS}")]
    TooMany {
        /// The number of them.
        count: usize,
    },
    /// A marker means two things at the same place.
    #[error("the marker {marker:?} has two meanings")]
    Repeated {
        /// The marker.
        marker: String,
    },
    /// A marker stands in another one, so that the front of the one could be the other.
    #[error("the marker {outer:?} contains the marker {inner:?}")]
    Nested {
        /// The longer one.
        outer: String,
        /// The one in it.
        inner: String,
    },
    /// A marker could be a part of a payload: a closer begins with what a payload may end with, or a
    /// marker is made of brackets, quotes, commas and colons alone.
    #[error("the marker {marker:?} may be a part of a payload")]
    InPayload {
        /// The marker.
        marker: String,
    },
    /// A part of a grammar is empty that has to say something, or is not of the form that it needs.
    #[error("the grammar of the opener {opener:?} has no {part}")]
    Part {
        /// The opener of the call.
        opener: String,
        /// The missing part, in words.
        part: &'static str,
    },
    /// More line ends than 8 should belong to a marker.
    #[error("{count} line ends belong to a marker; expected at most {MAX_FRAMING}")]
    Framing {
        /// The number of them.
        count: u8,
    },
    /// There is no example, it makes no call, or one that is not complete.
    #[error("the example is missing or not read as complete calls in this dialect")]
    Example,
}
