//! Limits on a stream.

use forgeline_types::setters;

/// Limits on one decoded stream, so that a faulty server cannot exhaust memory.
///
/// # Examples
///
/// ```
/// use forgeline::llm::sse::SseLimits;
///
/// let limits = SseLimits::default().max_line_bytes(1 << 20);
/// assert_eq!(limits.max_event_bytes, 8 << 20);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SseLimits {
    /// The maximum length of a line, in bytes, without its line end. Default: 8 MiB.
    ///
    /// A longer line ends the stream with
    /// [`DecodeError::LineTooLong`](super::DecodeError::LineTooLong).
    pub max_line_bytes: usize,
    /// The maximum length of the data of one event, in bytes, with its lines joined. Default: 8 MiB.
    ///
    /// Longer data ends the stream with
    /// [`DecodeError::EventTooLong`](super::DecodeError::EventTooLong).
    pub max_event_bytes: usize,
    /// The maximum length of the body of one response, in bytes, for any protocol. Default: 32 MiB, ten
    /// times the longest answer of any model.
    ///
    /// A longer answer of a provider ends with
    /// [`ProviderError::Decode`](crate::ProviderError::Decode), unless it was already complete. An
    /// [`SseDecoder`](super::SseDecoder) by itself does not apply this limit.
    pub max_response_bytes: usize,
}

impl Default for SseLimits {
    fn default() -> Self {
        Self { max_line_bytes: 8 << 20, max_event_bytes: 8 << 20, max_response_bytes: 32 << 20 }
    }
}

impl SseLimits {
    setters! {
        SseLimits:
        max_line_bytes(usize),
        max_event_bytes(usize),
        max_response_bytes(usize),
    }
}
