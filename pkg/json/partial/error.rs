//! The faults that end a growing JSON text.

use thiserror::Error;

/// A fault in a JSON text, and its byte.
///
/// # Examples
///
/// ```
/// use forgeline::types::PartialJson;
///
/// let error = PartialJson::new().push(r#"{"city" "Lisbon"}"#).unwrap_err();
/// assert_eq!(error.to_string(), "expected `:` at byte 8");
/// assert_eq!(error.offset(), 8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PartialJsonError {
    /// A character is there that JSON does not allow.
    #[error("expected {expected} at byte {offset}")]
    Unexpected {
        /// The values that JSON allows there.
        expected: &'static str,
        /// Offset from the start of the text, in bytes.
        offset: u64,
    },
    /// More than 128 arrays and objects are open.
    #[error("more than 128 brackets are open at byte {offset}")]
    TooDeep {
        /// Offset of the first bracket beyond the limit, in bytes.
        offset: u64,
    },
    /// The text is longer than its limit.
    #[error("the text goes on after its limit at byte {offset}")]
    TooLong {
        /// Offset of the first character that was not taken, in bytes.
        offset: u64,
    },
    /// The text ended before its value did.
    #[error("the text ended inside its value at byte {offset}")]
    Incomplete {
        /// Length of the text, in bytes.
        offset: u64,
    },
}

impl PartialJsonError {
    /// Returns the offset from the start of the text, in bytes.
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
