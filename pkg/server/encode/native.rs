//! The native protocol of forgeline.

use super::{
    EncodeMessages, RunEnd,
    message_writer::{MessageWriter, write_json},
};
use forgeline_types::Envelope;

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

impl EncodeMessages for Native {
    fn encode_event(&mut self, envelope: &Envelope, out: &mut MessageWriter<'_>) {
        out.send_numbered(envelope.seq, envelope.event.kind(), |out| envelope.write_json(out));
    }

    fn encode_end(&mut self, end: &RunEnd, out: &mut MessageWriter<'_>) {
        out.send_numbered(end.seq, "run_end", |out| write_json(end, out));
    }
}
