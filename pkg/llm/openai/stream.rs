//! The body of a Chat Completions response becomes chunks.

use std::mem::take;

use serde_json::value::RawValue;

use super::{
    calls::Calls,
    error::in_stream,
    surrogates::Mended,
    wire::{self, Choice, Chunk, Content, Seen},
};
use crate::{
    llm::{
        BodyDecoder, ChunkDetails, ContentType, Progress, ProviderError, StreamChunk,
        sse::{SseDecoder, SseLimits},
    },
    types::{Json, MessageRole, Text},
};

/// Bytes of a body's beginning that are kept to say what it is when it is no stream.
const HEAD_BYTES: usize = 200;

/// Decodes the body of a Chat Completions response, whatever dialect the server speaks.
///
/// A stream of events is the rule. A body that starts with `{` is read as a whole answer, as a
/// server sends it that does not stream; anything else is a [`ProviderError::Decode`] that says
/// what came.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{BodyDecoder, openai::OpenAiDecoder};
///
/// let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
/// let mut decoder = OpenAiDecoder::default();
/// let mut text = String::new();
/// for bytes in body.chunks(7) {
///     decoder.push(bytes, &mut |chunk| text.push_str(&chunk.content))?;
/// }
/// decoder.finish(&mut |_| {})?;
/// assert_eq!(text, "Hi");
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
#[derive(Debug, Default)]
pub struct OpenAiDecoder {
    sse: SseDecoder,
    limits: SseLimits,
    form: Form,
    /// A whole answer, at most `max_event_bytes` long; else the first [`HEAD_BYTES`] of the body.
    head: Vec<u8>,
    received: u64,
    reader: ChunkReader,
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

impl OpenAiDecoder {
    /// A decoder with these limits; a whole answer may be `max_event_bytes` long.
    #[must_use]
    pub fn new(limits: SseLimits) -> Self {
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
            || self.reader.events > 0
            || fields.iter().any(|field| head.starts_with(field) || field.starts_with(head))
        {
            return ProviderError::EndedEarly { received: self.received };
        }
        let kind = if head.starts_with('<') { "a web page" } else { "no event stream" };
        let start: String = head.chars().take(80).collect();
        ProviderError::Decode {
            offset: 0,
            reason: Text::from(format!(
                "the body is {kind}; check the base URL; it starts with {start:?}"
            )),
        }
    }
}

impl BodyDecoder for OpenAiDecoder {
    fn push(
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
            self.reader.events += 1;
            let is_error = event.event == "error";
            self.reader.event(event.data, is_error, event.offset, emit)?;
        }
        Ok(())
    }

    fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        self.sse.finish();
        if self.form == Form::Whole {
            let head = take(&mut self.head);
            let text = String::from_utf8_lossy(&head);
            let text = text.trim_start_matches('\u{FEFF}').trim();
            if self.reader.whole(text, emit).is_err() {
                self.head = head;
                return Err(self.no_answer());
            }
            self.head = head;
        }
        self.reader.finish(emit)?;
        if let Some(error) = self.reader.error.take() {
            return Err(error);
        }
        match self.reader.progress {
            Progress::Complete | Progress::Done => Ok(()),
            Progress::Open | Progress::Failed => Err(self.no_answer()),
        }
    }

    fn progress(&self) -> Progress {
        self.reader.progress()
    }
}

/// Turns the JSON of events into chunks.
#[derive(Debug)]
struct ChunkReader {
    progress: Progress,
    /// Events so far.
    events: u64,
    calls: Calls,
    role: Option<MessageRole>,
    model: Text,
    response_id: Text,
    highest_other: u32,
    error: Option<ProviderError>,
    /// An event that ends in half a character, and where it stands: the next one may have the rest.
    half: Option<(Mended, u64)>,
}

impl Default for ChunkReader {
    fn default() -> Self {
        Self {
            progress: Progress::Open,
            events: 0,
            calls: Calls::default(),
            role: None,
            model: Text::new(),
            response_id: Text::new(),
            highest_other: 0,
            error: None,
            half: None,
        }
    }
}

impl ChunkReader {
    fn progress(&self) -> Progress {
        match self.progress {
            Progress::Done => Progress::Done,
            _ if self.error.is_some() => Progress::Failed,
            Progress::Open | Progress::Failed | Progress::Complete => self.progress,
        }
    }

    fn event(
        &mut self,
        data: &str,
        is_error: bool,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if self.progress == Progress::Done || data.is_empty() {
            return Ok(());
        }
        let Some((mut half, half_offset)) = self.half.take() else {
            return self.read(data, is_error, offset, emit);
        };
        let mut next = Mended::new(data);
        half.join(&mut next);
        self.read(half.json(), false, half_offset, emit)?;
        self.mended(next, is_error, offset, emit)
    }

    /// Reads an event without lone surrogates, once its last character is whole.
    fn mended(
        &mut self,
        event: Mended,
        is_error: bool,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if event.is_open() && !is_error {
            self.half = Some((event, offset));
            return Ok(());
        }
        self.read(event.json(), is_error, offset, emit)
    }

    /// The body ended: no other half will come.
    fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        self.half
            .take()
            .map_or(Ok(()), |(half, offset)| self.read(half.json(), false, offset, emit))
    }

    fn read(
        &mut self,
        data: &str,
        is_error: bool,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            if self.progress == Progress::Open {
                emit(StreamChunk { finished: true, ..StreamChunk::default() });
            }
            self.progress = Progress::Done;
            return Ok(());
        }
        let mut chunk = Chunk::default();
        match wire::chunk(data, &mut chunk) {
            Ok(()) => {}
            Err(_) if is_error => {
                self.fail(in_stream(None, data));
                return Ok(());
            }
            Err(error) => {
                let event = Mended::new(data);
                if event.json() != data {
                    return self.mended(event, is_error, offset, emit);
                }
                let reason = Text::from(format!("an event's data are no chunk: {error}"));
                return Err(ProviderError::Decode { offset, reason });
            }
        }
        let error = match chunk.error.map(RawValue::get) {
            Some("\"\"" | "{}" | "false") => None,
            Some(raw) => Some(raw),
            None if is_error
                || (chunk.object.0 == "error" && chunk.choices.seen == Seen::Nothing) =>
            {
                Some(data)
            }
            None => None,
        };
        self.chunk(&mut chunk, emit);
        if let Some(raw) = error {
            self.fail(in_stream(Some(raw), raw));
        }
        Ok(())
    }

    /// Reads a body that is one JSON value.
    fn whole(&mut self, text: &str, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ()> {
        let mended = Mended::new(text);
        let text = mended.json();
        let mut chunk = Chunk::default();
        wire::chunk(text, &mut chunk).map_err(|_| ())?;
        let is_error = chunk.error.is_some() || chunk.object.0 == "error";
        if chunk.choices.seen == Seen::Nothing && !is_error {
            return Err(());
        }
        let has_message = chunk.choices.seen == Seen::First;
        self.event(text, false, 0, emit).map_err(|_| ())?;
        if has_message && self.progress == Progress::Open && self.error.is_none() {
            self.progress = Progress::Complete;
            emit(StreamChunk { finished: true, ..StreamChunk::default() });
        }
        Ok(())
    }

    fn fail(&mut self, error: ProviderError) {
        self.error.get_or_insert(error);
    }

    fn chunk(&mut self, chunk: &mut Chunk<'_>, emit: &mut dyn FnMut(StreamChunk)) {
        let mut out = StreamChunk::default();
        let mut details = self.identity(chunk);
        let usage = chunk.usage.or_else(|| chunk.x_groq.and_then(wire::groq_usage));
        let mut set_usage = |raw: &RawValue, details: &mut Option<Box<ChunkDetails>>| {
            out.usage = Some(wire::usage(raw));
            details.get_or_insert_default().usage_raw = Json::parse(raw.get()).ok();
        };
        if let Some(raw) = usage {
            set_usage(raw, &mut details);
        }
        if chunk.choices.seen == Seen::First {
            let choice = &mut chunk.choices.first;
            if let (None, Some(raw)) = (usage, choice.usage.as_deref()) {
                set_usage(raw, &mut details);
            }
            self.choice(choice, &mut out, &mut details, emit);
        }
        out.details = details;
        let says_nothing = out.content.is_empty()
            && out.tool_calls.is_empty()
            && out.role.is_none()
            && out.usage.is_none()
            && out.details.is_none()
            && !out.finished;
        if !says_nothing {
            emit(out);
        }
    }

    /// What a chunk says about the response that earlier ones did not.
    fn identity(&mut self, chunk: &Chunk<'_>) -> Option<Box<ChunkDetails>> {
        let mut details: Option<Box<ChunkDetails>> = None;
        if chunk.choices.seen == Seen::Nothing {
            return None;
        }
        if self.model.is_empty() && !chunk.model.0.is_empty() {
            self.model = Text::from(&*chunk.model.0);
            details.get_or_insert_default().model = Some(self.model.clone());
        }
        if self.response_id.is_empty() && !chunk.id.0.is_empty() {
            self.response_id = Text::from(&*chunk.id.0);
            details.get_or_insert_default().response_id = Some(self.response_id.clone());
        }
        if chunk.choices.highest_other > self.highest_other {
            self.highest_other = chunk.choices.highest_other;
            details.get_or_insert_default().ignored_choices = self.highest_other;
        }
        details
    }

    fn choice(
        &mut self,
        choice: &mut Choice,
        out: &mut StreamChunk,
        details: &mut Option<Box<ChunkDetails>>,
        emit: &mut dyn FnMut(StreamChunk),
    ) {
        if !choice.delta.present {
            if let Some(message) = choice.message.take() {
                choice.delta = *message;
            } else {
                choice.delta.content.text = take(&mut choice.text.0);
            }
        }
        let delta = &mut choice.delta;
        if delta.role.0 == "assistant" && self.role.is_none() {
            self.role = Some(MessageRole::Assistant);
            out.role = self.role;
        }
        let Content { text, before, is_thinking } = take(&mut delta.content);
        add(out, ContentType::Thinking, take(&mut delta.reasoning.0), emit);
        for (is_thinking, text) in before {
            add(out, kind(is_thinking), text, emit);
        }
        add(out, kind(is_thinking), text, emit);
        add(out, ContentType::Refusal, take(&mut delta.refusal.0), emit);
        for call in delta.tool_calls.drain(..) {
            out.tool_calls.extend(self.calls.delta(call));
        }
        let word = take(&mut choice.finish_reason.0);
        if !word.is_empty() {
            out.finish_reason = Some(wire::finish_reason(&word));
            out.finished = true;
            details.get_or_insert_default().finish_reason_raw = Some(word);
            self.progress = Progress::Complete;
        }
    }
}

fn kind(is_thinking: bool) -> ContentType {
    if is_thinking { ContentType::Thinking } else { ContentType::Message }
}

/// Puts content into `out`; content of another kind that is there already goes first.
fn add(out: &mut StreamChunk, kind: ContentType, text: Text, emit: &mut dyn FnMut(StreamChunk)) {
    if text.is_empty() {
        return;
    }
    if !out.content.is_empty() {
        emit(StreamChunk {
            content: take(&mut out.content),
            content_type: out.content_type,
            role: out.role.take(),
            ..StreamChunk::default()
        });
    }
    out.content = text;
    out.content_type = kind;
}
