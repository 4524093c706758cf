//! Why a JSON text that grows went no further.

use thiserror::Error;

/// What is wrong with a JSON text, and at which of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PartialJsonError {
    /// Another character stands there than JSON allows.
    #[error("expected {expected} at byte {offset}")]
    Unexpected {
        /// What may stand there.
        expected: &'static str,
        /// Where, in bytes from the start of the text.
        offset: u64,
    },
    /// More than 128 arrays and objects are open.
    #[error("more than 128 brackets are open at byte {offset}")]
    TooDeep {
        /// Where the one too many stands.
        offset: u64,
    },
    /// The text is longer than its limit.
    #[error("the text goes on after its limit at byte {offset}")]
    TooLong {
        /// Where the first character stands that was not taken.
        offset: u64,
    },
    /// The text ended before its value did.
    #[error("the text ended inside its value at byte {offset}")]
    Incomplete {
        /// The length of the text.
        offset: u64,
    },
}

impl PartialJsonError {
    /// Where, in bytes from the start of the text.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match *self {
            Self::Unexpected { offset, .. }
            | Self::TooDeep { offset }
            | Self::TooLong { offset }
            | Self::Incomplete { offset } => offset,
        }
    }
}
