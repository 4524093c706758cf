//! Encoders whose messages are server-sent events.

use super::{
    AgUi, Encode, EncodeMessages as _, Native, RunEnd, UiMessageStream,
    message_writer::MessageWriter,
};
use forgeline_types::Envelope;

/// Implements [`Encode`] with the messages of an encoder as server-sent events.
macro_rules! as_frames {
    ($($Encoder:ty),+) => {$(
        impl Encode for $Encoder {
            fn event(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
                self.encode_event(envelope, &mut MessageWriter::frames(out));
            }

            fn end(&mut self, end: &RunEnd, out: &mut Vec<u8>) {
                self.encode_end(end, &mut MessageWriter::frames(out));
            }
        }
    )+};
}

as_frames!(Native, UiMessageStream, AgUi);
