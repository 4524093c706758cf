//! Errors in framing a body.

/// An error in framing a response body into events or lines.
///
/// Offsets are counted in bytes from the start of the body, so they do not depend on the chunking.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A line is longer than the limit.
    #[error(
        "the line that starts at byte {offset} is longer than {limit} bytes; if such lines are expected, raise `max_line_bytes`"
    )]
    #[non_exhaustive]
    LineTooLong {
        /// The start of the line.
        offset: u64,
        /// The limit in force, in bytes.
        limit: usize,
    },
    /// The data of one event is longer than the limit.
    #[error(
        "the event that starts at byte {offset} is longer than {limit} bytes; if such events are expected, raise `max_event_bytes`"
    )]
    #[non_exhaustive]
    EventTooLong {
        /// The start of the event.
        offset: u64,
        /// The limit in force, in bytes.
        limit: usize,
    },
}

impl DecodeError {
    /// Returns the position in the body, in bytes from its start.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match self {
            Self::LineTooLong { offset, .. } | Self::EventTooLong { offset, .. } => *offset,
        }
    }

    /// Returns `true` if the same request may succeed when sent again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::LineTooLong { .. } | Self::EventTooLong { .. } => false,
        }
    }
}
