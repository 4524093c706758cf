//! Decoding of Server-Sent Events in a format that the library does not know.

use std::fmt;

use super::{EventBody, EventFault, EventReader, OutSink, Progress, finish_reason};
use crate::{BodyDecoder, ProviderError, StreamChunk, sse::SseLimits};
use forgeline_types::{Json, Text, UsageInfo};

/// A format of Server-Sent Events: what the data of an event means. A value reads one answer. See [`SseBody`] for an example.
pub trait SseFormat: Default + Send {
    /// The name of the format, for events that are passed on as they came.
    const NAME: &'static str;

    /// Reads the data of an event; `name` is empty for an event without a name. The marker `[DONE]` and empty data do not arrive here. A body that is
    /// one JSON value, from a server that does not stream, arrives as one event.
    ///
    /// # Errors
    ///
    /// Data that cannot be read ends the answer with [`ProviderError::Decode`]. An error that the server reports is for [`SseAnswer::fail`].
    fn event(
        &mut self,
        name: &str,
        data: &str,
        answer: &mut SseAnswer<'_>,
    ) -> serde_json::Result<()>;
}

/// The answer that an [`SseFormat`] reads.
pub struct SseAnswer<'s>(OutSink<'s>);

impl SseAnswer<'_> {
    /// Adds a piece of text; an empty piece adds nothing.
    pub fn text(&mut self, text: impl Into<Text>) {
        self.0.text(text.into());
    }

    /// Adds a piece of reasoning; an empty piece adds nothing.
    pub fn thinking(&mut self, text: impl Into<Text>) {
        self.0.thinking(text.into());
    }

    /// Adds anything else, such as [`StreamChunk::calls`].
    pub fn chunk(&mut self, chunk: StreamChunk) {
        self.0.emit_some(chunk);
    }

    /// Adds the tokens that the answer took, and what the server said about them.
    pub fn usage(&mut self, usage: UsageInfo, raw: impl Into<Json>) {
        let mut chunk = StreamChunk { usage: Some(usage), ..StreamChunk::default() };
        chunk.details.get_or_insert_default().usage_raw = Some(raw.into());
        self.0.emit(chunk);
    }

    /// Completes the answer, for the reason that the server names, such as `stop` or `length`. An answer without this is
    /// [`ProviderError::EndedEarly`].
    pub fn finish(&mut self, reason: &str) {
        let mut chunk = StreamChunk { finished: true, ..StreamChunk::default() };
        chunk.set_finish_reason(finish_reason(reason), reason);
        self.0.emit(chunk);
        self.0.set_progress(Progress::Complete);
    }

    /// Records the error that the server reports, as JSON or text. What came before stays in the answer.
    pub fn fail(&mut self, raw: &str) {
        self.0.fail_with(raw);
    }

    /// Passes on an event that the format does not know; it is not part of the answer.
    pub fn unknown(&mut self, name: &str, data: &str) {
        self.0.unknown_event(name, data);
    }
}

impl fmt::Debug for SseAnswer<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SseAnswer").field(&self.0.progress()).finish()
    }
}

/// A decoder for bodies of Server-Sent Events in a format of your own. Framing, split characters, other kinds of bodies, limits and the end of the
/// body are the library's.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{BodyDecoder as _, SseAnswer, SseBody, SseFormat};
///
/// #[derive(Default)]
/// struct Letters;
///
/// impl SseFormat for Letters {
///     const NAME: &'static str = "letters";
///
///     fn event(&mut self, name: &str, data: &str, answer: &mut SseAnswer<'_>) -> serde_json::Result<()> {
///         match name {
///             "say" => answer.text(serde_json::from_str::<String>(data)?),
///             "end" => answer.finish("stop"),
///             _ => answer.unknown(name, data),
///         }
///         Ok(())
///     }
/// }
///
/// let (mut decoder, mut text) = (SseBody::<Letters>::default(), String::new());
/// for piece in ["event: say\nda", "ta: \"Hi\"\n\nevent: end\n", "data: {}\n\n"] {
///     decoder.push(piece.as_bytes(), &mut |chunk| text.push_str(&chunk.content))?;
/// }
/// decoder.finish(&mut |_| {})?;
/// assert_eq!(text, "Hi");
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
#[derive(Debug)]
pub struct SseBody<F>(EventBody<FormatReader<F>>);

impl<F: SseFormat> SseBody<F> {
    /// Creates a decoder with these limits; a whole answer may have up to `max_event_bytes`.
    #[must_use]
    pub fn new(limits: SseLimits) -> Self {
        Self(EventBody::new(limits))
    }
}

impl<F: SseFormat> Default for SseBody<F> {
    fn default() -> Self {
        Self::new(SseLimits::default())
    }
}

impl<F: SseFormat> BodyDecoder for SseBody<F> {
    fn push(
        &mut self,
        bytes: &[u8],
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        self.0.push(bytes, emit)
    }

    fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        self.0.finish(emit)
    }

    fn progress(&self) -> Progress {
        self.0.progress()
    }
}

/// An [`SseFormat`] as a reader of events.
#[derive(Debug, Default)]
struct FormatReader<F>(F);

impl<F: SseFormat> EventReader for FormatReader<F> {
    const PROTOCOL: &'static str = F::NAME;

    fn event(&mut self, name: &str, data: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let OutSink { state, emit, protocol } = sink;
        let mut answer = SseAnswer(OutSink { state, emit: &mut **emit, protocol });
        Ok(self.0.event(name, data, &mut answer)?)
    }
}
