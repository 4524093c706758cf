//! One event.

/// One event of a stream. It borrows from the input, or from the decoder's buffer if the event
/// did not lie within one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The event's type; `message` if the stream names none.
    pub event: &'a str,
    /// The data lines, joined by newlines.
    pub data: &'a str,
    /// The last id that the stream set; empty if it has set none.
    pub id: &'a str,
    /// The start of the event's first line, in bytes from the start of the body.
    pub offset: u64,
}
