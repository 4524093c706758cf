//! The errors that end a partial JSON text.

use thiserror::Error;

/// An error in a JSON text, and its byte offset.
///
/// # Examples
///
/// ```
/// use forgeline_json::PartialJson;
///
/// let error = PartialJson::new().push(r#"{"city" "Lisbon"}"#).unwrap_err();
/// assert_eq!(error.to_string(), "expected `:` at byte 8");
/// assert_eq!(error.offset(), 8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PartialJsonError {
    /// A character that JSON does not allow at this place.
    #[error("expected {expected} at byte {offset}")]
    #[non_exhaustive]
    Unexpected {
        /// The syntax that JSON allows at this place.
        expected: &'static str,
        /// Offset from the start of the text, in bytes.
        offset: u64,
    },
    /// More than 128 arrays and objects are open.
    #[error("more than 128 brackets are open at byte {offset}; expected at most 128 levels")]
    #[non_exhaustive]
    TooDeep {
        /// Offset of the first bracket beyond the limit, in bytes.
        offset: u64,
    },
    /// The text is longer than its limit.
    #[error("the text goes on after its limit at byte {offset}; expected a shorter text")]
    #[non_exhaustive]
    TooLong {
        /// Offset of the first character that was not accepted, in bytes.
        offset: u64,
    },
    /// The text ended before its value did.
    #[error("the text ended inside its value at byte {offset}; expected the rest")]
    #[non_exhaustive]
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
