//! Decoding of a body of Server-Sent Events, and the errors of bodies that contain
//! none.

use std::mem::take;

use super::{Emit, EventReader, EventStream, Fault, Progress, in_stream, vendor_error};
use crate::{
    llm::{
        ProviderError,
        sse::{SseDecoder, SseLimits, lossy},
    },
    types::Text,
};

/// The number of bytes at the start of a body that are kept to describe it if it is not a stream.
const HEAD_BYTES: usize = 2000;

/// Maximum number of characters of a body that an error quotes.
const QUOTED_CHARS: usize = 500;

/// A decoder of a body of events, received in pieces of any size.
///
/// A body that starts with a brace or bracket is read whole at its end; anything else that is not a stream is a
/// [`ProviderError::Decode`] that quotes its beginning.
#[derive(Debug)]
pub(in crate::llm) struct EventBody<R> {
    sse: SseDecoder,
    limits: SseLimits,
    form: Form,
    /// A whole answer, at most `max_event_bytes` long; otherwise the first [`HEAD_BYTES`] of the body, until an event
    /// has been read.
    head: Vec<u8>,
    received: u64,
    has_events: bool,
    stream: EventStream<R>,
}

/// The kind of a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Form {
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
            form: Form::Unknown,
            head: Vec::new(),
            received: 0,
            has_events: false,
            stream: EventStream::default(),
        }
    }
}

impl<R: EventReader + Default> EventBody<R> {
    /// Creates a decoder with these limits; a whole answer may have up to `max_event_bytes`.
    pub(in crate::llm) fn new(limits: SseLimits) -> Self {
        Self { sse: SseDecoder::new(limits).dropping_marks(), limits, ..Self::default() }
    }

    fn keep_head(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        if self.form == Form::Unknown {
            let is_visible =
                |byte: &u8| !byte.is_ascii_whitespace() && !b"\xEF\xBB\xBF".contains(byte);
            self.form = match bytes.iter().find(|byte| is_visible(byte)) {
                None => Form::Unknown,
                Some(b'{' | b'[' | b'<') => Form::Whole,
                Some(_) => Form::Events,
            };
        }
        let room = match self.form {
            Form::Whole if self.head.len() + bytes.len() > self.limits.max_event_bytes => {
                return Err(too_long());
            }
            Form::Whole => bytes.len(),
            Form::Unknown | Form::Events => HEAD_BYTES.saturating_sub(self.head.len()),
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

    pub(in crate::llm) fn push(
        &mut self,
        bytes: &[u8],
        emit: Emit<'_>,
    ) -> Result<(), ProviderError> {
        self.received += bytes.len() as u64;
        if !self.has_events {
            self.keep_head(bytes)?;
        }
        if self.form == Form::Whole {
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

    pub(in crate::llm) fn finish(&mut self, emit: Emit<'_>) -> Result<(), ProviderError> {
        self.sse.finish();
        if self.form == Form::Whole {
            // The only copy in memory: a long body takes no more than its length.
            let text = text(take(&mut self.head), self.limits.max_event_bytes);
            let text = text.ok_or_else(too_long)?;
            let whole = text.trim_start_matches('\u{FEFF}').trim();
            let read = self.stream.whole(whole, emit);
            let reported = (read.is_err() && vendor_error::is_error(whole))
                .then(|| in_stream(Some(whole), whole));
            self.head.extend(whole.bytes().take(HEAD_BYTES));
            match read {
                Ok(()) => {}
                Err(limit @ Fault::Limit(_)) => return Err(limit.at(0)),
                Err(Fault::Data(_)) => return Err(reported.unwrap_or_else(|| self.no_answer())),
            }
        }
        if self.stream.finish(emit)? { Ok(()) } else { Err(self.no_answer()) }
    }

    pub(in crate::llm) fn progress(&self) -> Progress {
        self.stream.progress()
    }
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
pub(in crate::llm) fn wrong_body(head: &str, wanted: &str) -> ProviderError {
    let head = head.trim_start_matches('\u{FEFF}').trim();
    let kind = match () {
        () if head.starts_with('<') => "a web page".to_owned(),
        // The magic number of gzip, whose second byte was replaced.
        () if head.starts_with("\u{1f}\u{fffd}") => {
            "compressed, which was not asked for".to_owned()
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
        pub struct $name($crate::llm::decode::EventBody<$reader>);

        impl $name {
            /// Creates a decoder with these limits; a whole answer may have up to `max_event_bytes`.
            #[must_use]
            pub fn new(limits: $crate::llm::sse::SseLimits) -> Self {
                Self($crate::llm::decode::EventBody::new(limits))
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

pub(in crate::llm) use event_decoder;
