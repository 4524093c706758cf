//! Bounds on a stream.

use crate::types::setters;

/// Bounds on one decoded stream, so that a faulty server cannot exhaust memory.
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
    /// Longest line, in bytes without its line end. Default: 8 MiB.
    ///
    /// A longer line ends the stream with
    /// [`DecodeError::LineTooLong`](super::DecodeError::LineTooLong).
    pub max_line_bytes: usize,
    /// Longest data of one event, in bytes, its lines joined. Default: 8 MiB.
    ///
    /// Longer data end the stream with
    /// [`DecodeError::EventTooLong`](super::DecodeError::EventTooLong).
    pub max_event_bytes: usize,
    /// Longest body of one response, in bytes, whatever its protocol. Default: 32 MiB, ten
    /// times the longest answer that models give.
    ///
    /// Where a provider's answer is longer, it ends with
    /// [`ProviderError::Decode`](crate::llm::ProviderError::Decode), unless it was whole before. An
    /// [`SseDecoder`](super::SseDecoder) by itself reads on.
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
