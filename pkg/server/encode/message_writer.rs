//! The receiver of what encoders write.

use std::ops::Range;

use serde::Serialize;

use crate::frames::{write_data, write_head};

/// The destination of an encoder's messages. Each is a JSON text, in the native protocol with a number and a kind; the destination decides whether it
/// becomes a server-sent event. The text is written once, in its place.
#[derive(Debug)]
pub(crate) struct MessageWriter<'o> {
    out: &'o mut Vec<u8>,
    form: MessageForm<'o>,
}

/// The form of messages.
#[derive(Debug)]
enum MessageForm<'o> {
    /// Server-sent events.
    Frames,
    /// The JSON texts alone, with the place of each.
    Texts(&'o mut Vec<Range<usize>>),
}

impl<'o> MessageWriter<'o> {
    /// Returns a writer of server-sent events.
    pub(crate) fn frames(out: &'o mut Vec<u8>) -> Self {
        Self { out, form: MessageForm::Frames }
    }

    /// Returns a writer of JSON texts, which adds the place of each to `places`.
    pub(crate) fn texts(out: &'o mut Vec<u8>, places: &'o mut Vec<Range<usize>>) -> Self {
        Self { out, form: MessageForm::Texts(places) }
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, value: &impl Serialize) {
        self.write(|out| write_json(value, out));
    }

    /// Sends a message that has a number and a kind besides its JSON text.
    pub(crate) fn send_numbered(
        &mut self,
        number: u64,
        kind: &str,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        if let MessageForm::Frames = self.form {
            write_head(number, kind, self.out);
        }
        self.write(write);
    }

    /// Sends the text that ends a stream of server-sent events, and is not a message.
    pub(crate) fn send_done(&mut self) {
        if let MessageForm::Frames = self.form {
            write_data(self.out, |out| out.extend_from_slice(b"[DONE]"));
        }
    }

    /// Sends messages that are server-sent events already, each with its data in one line.
    pub(crate) fn send_frames(&mut self, frames: &str) {
        if let MessageForm::Frames = self.form {
            return self.out.extend_from_slice(frames.as_bytes());
        }
        let data = frames.lines().filter_map(|line| line.strip_prefix("data: "));
        for text in data.filter(|text| *text != "[DONE]") {
            self.write(|out| out.extend_from_slice(text.as_bytes()));
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        match &mut self.form {
            MessageForm::Frames => write_data(self.out, write),
            MessageForm::Texts(places) => {
                let begun = self.out.len();
                write(self.out);
                places.push(begun..self.out.len());
            }
        }
    }
}

/// Appends a value as JSON, which contains no line end; `null` if it cannot be serialized.
pub(crate) fn write_json(value: &impl Serialize, out: &mut Vec<u8>) {
    let begun = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(begun);
        out.extend_from_slice(b"null");
    }
}
