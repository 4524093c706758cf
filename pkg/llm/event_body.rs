//! The body of a response that is a stream of events, whatever its protocol: bytes to events, and what
//! it means when there are none.

use std::mem::take;

use super::{
    Progress, ProviderError, StreamChunk,
    sse::{SseDecoder, SseEvent, SseLimits},
};
use crate::types::Text;

/// Bytes of a body's beginning that are kept to say what it is when it is no stream.
const HEAD_BYTES: usize = 200;

/// Reads what the events of one protocol say.
pub(super) trait EventReader {
    /// Takes one event.
    fn event(
        &mut self,
        event: &SseEvent<'_>,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError>;

    /// Takes a body that is one JSON text, as a server sends it that does not stream; `Err` when it
    /// is no answer.
    fn whole(&mut self, text: &str, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ()>;

    /// The body ended; nothing more comes.
    fn end(&mut self, _emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        Ok(())
    }

    /// The error that the server reported.
    fn take_error(&mut self) -> Option<ProviderError>;

    /// How far the response has come; [`Progress::Failed`] once there is an error to take.
    fn progress(&self) -> Progress;
}

/// Decodes a body of events, in any pieces.
///
/// A body that starts with a bracket is read whole at its end; anything else that is no stream is a
/// [`ProviderError::Decode`] that says what came.
#[derive(Debug, Default)]
pub(super) struct EventBody<R> {
    sse: SseDecoder,
    limits: SseLimits,
    form: Form,
    /// A whole answer, at most `max_event_bytes` long; else the first [`HEAD_BYTES`] of the body.
    head: Vec<u8>,
    received: u64,
    events: u64,
    reader: R,
}

/// What kind of body it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Form {
    /// Only blanks were seen, or a byte order mark.
    #[default]
    Unknown,
    /// A stream of events.
    Events,
    /// A JSON text or something else that is no stream; read at its end.
    Whole,
}

impl<R: EventReader + Default> EventBody<R> {
    /// A decoder with these limits; a whole answer may be `max_event_bytes` long.
    pub(super) fn new(limits: SseLimits) -> Self {
        Self { sse: SseDecoder::new(limits), limits, ..Self::default() }
    }

    fn keep_head(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        if self.form == Form::Unknown {
            let blank = |byte: &u8| !byte.is_ascii_whitespace() && !b"\xEF\xBB\xBF".contains(byte);
            self.form = match bytes.iter().find(|byte| blank(byte)) {
                None => Form::Unknown,
                Some(b'{' | b'[' | b'<') => Form::Whole,
                Some(_) => Form::Events,
            };
        }
        let room = match self.form {
            Form::Whole if self.head.len() + bytes.len() > self.limits.max_event_bytes => {
                return Err(ProviderError::Decode {
                    offset: 0,
                    reason: Text::from("the body is no stream, and too long to be read whole"),
                });
            }
            Form::Whole => bytes.len(),
            Form::Unknown | Form::Events => HEAD_BYTES.saturating_sub(self.head.len()),
        };
        self.head.extend(bytes.iter().take(room));
        Ok(())
    }

    /// What is wrong with a body that held no answer.
    fn no_answer(&self) -> ProviderError {
        let head = String::from_utf8_lossy(&self.head);
        let head = head.trim_start_matches('\u{FEFF}').trim();
        let fields = ["data", "event", "id", "retry", ":"];
        if head.is_empty()
            || self.events > 0
            || fields.iter().any(|field| head.starts_with(field) || field.starts_with(head))
        {
            return ProviderError::EndedEarly { received: self.received };
        }
        wrong_body(head, "event stream")
    }

    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        self.received += bytes.len() as u64;
        if self.form != Form::Events || self.head.len() < HEAD_BYTES {
            self.keep_head(bytes)?;
        }
        if self.form == Form::Whole {
            return Ok(());
        }
        let mut input = bytes;
        while let Some(event) = self.sse.next_event(&mut input)? {
            self.events += 1;
            self.reader.event(&event, emit)?;
        }
        Ok(())
    }

    pub(super) fn finish(
        &mut self,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        self.sse.finish();
        if self.form == Form::Whole {
            let head = take(&mut self.head);
            let text = String::from_utf8_lossy(&head);
            let text = text.trim_start_matches('\u{FEFF}').trim();
            let read = self.reader.whole(text, emit);
            self.head = head;
            if read.is_err() {
                return Err(self.no_answer());
            }
        }
        self.reader.end(emit)?;
        let progress = self.reader.progress();
        if let Some(error) = self.reader.take_error() {
            return Err(error);
        }
        match progress {
            Progress::Complete | Progress::Done => Ok(()),
            Progress::Open | Progress::Failed => Err(self.no_answer()),
        }
    }

    pub(super) fn progress(&self) -> Progress {
        self.reader.progress()
    }
}

/// What is wrong with a body that begins with `head` and is not what was `wanted`.
pub(super) fn wrong_body(head: &str, wanted: &str) -> ProviderError {
    let head = head.trim_start_matches('\u{FEFF}').trim();
    let is_page = head.starts_with('<');
    let kind = if is_page { "a web page".to_owned() } else { format!("no {wanted}") };
    let start: String = head.chars().take(80).collect();
    ProviderError::Decode {
        offset: 0,
        reason: Text::from(format!(
            "the body is {kind}; check the base URL; it starts with {start:?}"
        )),
    }
}

/// Makes a public decoder of an [`EventReader`].
macro_rules! event_decoder {
    ($(#[$doc:meta])* $name:ident, $reader:ty) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name($crate::llm::event_body::EventBody<$reader>);

        impl $name {
            /// A decoder with these limits; a whole answer may be `max_event_bytes` long.
            #[must_use]
            pub fn new(limits: $crate::llm::sse::SseLimits) -> Self {
                Self($crate::llm::event_body::EventBody::new(limits))
            }
        }

        impl $crate::llm::BodyDecoder for $name {
            fn push(
                &mut self,
                bytes: &[u8],
                emit: &mut dyn FnMut($crate::llm::StreamChunk),
            ) -> Result<(), $crate::llm::ProviderError> {
                self.0.push(bytes, emit)
            }

            fn finish(
                &mut self,
                emit: &mut dyn FnMut($crate::llm::StreamChunk),
            ) -> Result<(), $crate::llm::ProviderError> {
                self.0.finish(emit)
            }

            fn progress(&self) -> $crate::llm::Progress {
                self.0.progress()
            }
        }
    };
}

pub(super) use event_decoder;
