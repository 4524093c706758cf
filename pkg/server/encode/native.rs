//! The native protocol of forgeline.

use memchr::memchr2;

use super::{
    Encode, RunEnd,
    frame::{self, number},
};
use crate::types::Envelope;

/// An encoder that sends each event as one server-sent event: `id` is its `seq`, `event` its kind, `data` the envelope. The last one is `run_end`.
///
/// A browser's `EventSource` sends the last `id` when it reconnects, so that reading can resume after it.
///
/// # Examples
///
/// ```
/// use forgeline::{server::encode::{Encode, Native}, types::{AgentEvent, Envelope}};
///
/// let mut frames = Vec::new();
/// Native::new().event(&Envelope::new("run".into(), 1, 7, 0, AgentEvent::TurnEnd), &mut frames);
/// assert!(frames.starts_with(b"id: 7\nevent: turn_end\ndata: {"));
/// ```
#[derive(Debug, Default)]
pub struct Native(());

impl Native {
    /// Returns the encoder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Encode for Native {
    fn event(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        head(envelope.seq, envelope.event.kind(), out);
        out.extend_from_slice(b"data: ");
        envelope.write_json(out);
        out.extend_from_slice(b"\n\n");
    }

    fn end(&mut self, end: &RunEnd, out: &mut Vec<u8>) {
        head(end.seq, "run_end", out);
        frame::data(end, out);
    }
}

/// Appends the fields before the data. A kind that contains a line end, which no field can represent, is only in the data.
pub(in crate::server) fn head(seq: u64, kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"id: ");
    number(seq, out);
    if !kind.is_empty() && memchr2(b'\n', b'\r', kind.as_bytes()).is_none() {
        out.extend_from_slice(b"\nevent: ");
        out.extend_from_slice(kind.as_bytes());
    }
    out.push(b'\n');
}
