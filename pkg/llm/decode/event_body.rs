//! Decoding of a body of Server-Sent Events, and the errors of bodies that contain
//! none.

use std::mem::take;

use super::{
    EmitChunk, EventFault, EventReader, EventStream, JsonEntries, Progress, in_stream, vendor_error,
};
use crate::{
    ProviderError,
    sse::{SseDecoder, SseLimits, lossy},
};
use forgeline_types::Text;

/// The number of bytes at the start of a body that are kept to describe it if it is not a stream.
const HEAD_BYTES: usize = 2000;

/// Maximum number of characters of a body that an error quotes.
const QUOTED_CHARS: usize = 500;

/// A decoder of a body of events, received in pieces of any size.
///
/// A body that starts with a brace or bracket is read whole at its end; anything else that is not a stream is a
/// [`ProviderError::Decode`] that quotes its beginning.
#[derive(Debug)]
pub(crate) struct EventBody<R> {
    sse: SseDecoder,
    limits: SseLimits,
    form: BodyForm,
    /// A whole answer, at most `max_event_bytes` long; otherwise the first [`HEAD_BYTES`] of the body, until an event
    /// has been read.
    head: Vec<u8>,
    received: u64,
    has_events: bool,
    stream: EventStream<R>,
}

/// The kind of a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum BodyForm {
    /// Unknown so far: only whitespace or a byte order mark has been seen.
    #[default]
    Unknown,
    /// A stream of events.
    Events,
    /// JSON or something else that is not a stream; read at its end.
    Whole,
}

impl<R: Default> Default for EventBody<R> {
    fn default() -> Self {
        let limits = SseLimits::default();
        Self {
            sse: SseDecoder::new(limits).dropping_marks(),
            limits,
            form: BodyForm::Unknown,
            head: Vec::new(),
            received: 0,
            has_events: false,
            stream: EventStream::default(),
        }
    }
}

impl<R: EventReader + Default> EventBody<R> {
    /// Creates a decoder with these limits; a whole answer may have up to `max_event_bytes`.
    pub(crate) fn new(limits: SseLimits) -> Self {
        Self { sse: SseDecoder::new(limits).dropping_marks(), limits, ..Self::default() }
    }

    fn keep_head(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        if self.form == BodyForm::Unknown {
            let is_visible =
                |byte: &u8| !byte.is_ascii_whitespace() && !b"\xEF\xBB\xBF".contains(byte);
            self.form = match bytes.iter().find(|byte| is_visible(byte)) {
                None => BodyForm::Unknown,
                Some(b'{' | b'[' | b'<') => BodyForm::Whole,
                Some(_) => BodyForm::Events,
            };
        }
        let room = match self.form {
            BodyForm::Whole if self.head.len() + bytes.len() > self.limits.max_event_bytes => {
                return Err(too_long());
            }
            BodyForm::Whole => bytes.len(),
            BodyForm::Unknown | BodyForm::Events => HEAD_BYTES.saturating_sub(self.head.len()),
        };
        self.head.extend(bytes.iter().take(room));
        Ok(())
    }

    /// Returns the error of a body without an answer.
    fn no_answer(&self) -> ProviderError {
        let head = String::from_utf8_lossy(&self.head);
        let head = head.trim_start_matches('\u{FEFF}').trim();
        let fields = ["data", "event", "id", "retry", ":"];
        if head.is_empty()
            || self.has_events
            || fields.iter().any(|field| head.starts_with(field) || field.starts_with(head))
        {
            return ProviderError::EndedEarly { received: self.received };
        }
        wrong_body(head, "an event stream")
    }

    pub(crate) fn push(&mut self, bytes: &[u8], emit: EmitChunk<'_>) -> Result<(), ProviderError> {
        self.received += bytes.len() as u64;
        if !self.has_events {
            self.keep_head(bytes)?;
        }
        if self.form == BodyForm::Whole {
            return Ok(());
        }
        let mut input = bytes;
        while let Some(event) = self.sse.next_event(&mut input)? {
            if !self.has_events {
                self.has_events = true;
                // Only a body without any event is quoted.
                self.head = Vec::new();
            }
            self.stream.event(event.event, event.data, event.offset, emit)?;
        }
        Ok(())
    }

    pub(crate) fn finish(&mut self, emit: EmitChunk<'_>) -> Result<(), ProviderError> {
        self.sse.finish();
        if self.form == BodyForm::Whole {
            // The only copy in memory: a long body takes no more than its length.
            let text = text(take(&mut self.head), self.limits.max_event_bytes);
            let text = text.ok_or_else(too_long)?;
            let whole = text.trim_start_matches('\u{FEFF}').trim();
            let mut read = self.stream.whole(whole, emit);
            if matches!(read, Err(EventFault::Data(_)))
                && let Some(answer) = enveloped(whole)
            {
                read = self.stream.whole(answer, emit);
            }
            let reported = (read.is_err() && vendor_error::is_error(whole))
                .then(|| in_stream(Some(whole), whole));
            self.head.extend(whole.bytes().take(HEAD_BYTES));
            match read {
                Ok(()) => {}
                Err(limit @ EventFault::Limit(_)) => return Err(limit.at(0)),
                Err(EventFault::Data(_)) => {
                    return Err(reported.unwrap_or_else(|| self.no_answer()));
                }
            }
        }
        if self.stream.finish(emit)? { Ok(()) } else { Err(self.no_answer()) }
    }

    pub(crate) fn progress(&self) -> Progress {
        self.stream.progress()
    }

    pub(crate) fn reader_mut(&mut self) -> &mut R {
        self.stream.reader_mut()
    }
}

/// Returns the object inside an envelope of a gateway, such as `{"success":true,"data":{…}}`.
fn enveloped(body: &str) -> Option<&str> {
    let envelope = JsonEntries::parse(body);
    let inner = ["data", "result", "response"].iter().find_map(|name| envelope.get(name))?;
    Some(inner.get()).filter(|inner| inner.starts_with('{'))
}

/// Returns the error of a body that is not a stream and too long.
fn too_long() -> ProviderError {
    let reason = Text::from("the body is not a stream, and too long to be read whole");
    ProviderError::Decode { offset: 0, reason }
}

/// Returns the bytes as text; `None` if replacing invalid UTF-8 makes it longer than `most` bytes.
fn text(bytes: Vec<u8>, most: usize) -> Option<String> {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Some(text),
        Err(error) => error.into_bytes(),
    };
    let mut text = String::new();
    lossy(&mut text, &bytes, most)?;
    Some(text)
}

/// Returns the error of a body that begins with `head` and is not the `wanted` kind.
pub(crate) fn wrong_body(head: &str, wanted: &str) -> ProviderError {
    let head = head.trim_start_matches('\u{FEFF}').trim();
    let kind = match () {
        () if head.starts_with('<') => "a web page".to_owned(),
        // The magic number of gzip, whose second byte was replaced.
        () if head.starts_with("\u{1f}\u{fffd}") => {
            "compressed, which was not requested".to_owned()
        }
        () => format!("not {wanted}"),
    };
    let start: String = head.chars().take(QUOTED_CHARS).collect();
    ProviderError::Decode {
        offset: 0,
        reason: Text::from(format!(
            "the body is {kind}; check the base URL; it starts with {start:?}"
        )),
    }
}

/// Declares a public decoder that reads events with an [`EventReader`].
macro_rules! event_decoder {
    ($(#[$doc:meta])* $name:ident, $reader:ty) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name($crate::decode::EventBody<$reader>);

        impl $name {
            /// Creates a decoder with these limits; a whole answer may have up to `max_event_bytes`.
            #[must_use]
            pub fn new(limits: $crate::sse::SseLimits) -> Self {
                Self($crate::decode::EventBody::new(limits))
            }
        }

        impl $crate::BodyDecoder for $name {
            fn push(
                &mut self,
                bytes: &[u8],
                emit: &mut dyn FnMut($crate::StreamChunk),
            ) -> Result<(), $crate::ProviderError> {
                self.0.push(bytes, emit)
            }

            fn finish(
                &mut self,
                emit: &mut dyn FnMut($crate::StreamChunk),
            ) -> Result<(), $crate::ProviderError> {
                self.0.finish(emit)
            }

            fn progress(&self) -> $crate::Progress {
                self.0.progress()
            }
        }
    };
}

pub(crate) use event_decoder;
