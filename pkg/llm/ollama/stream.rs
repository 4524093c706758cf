//! The body of an Ollama response becomes chunks.

use serde_json::value::RawValue;

use super::wire::{self, Answer, Phase};
use crate::{
    llm::{
        BodyDecoder, Progress, ProviderError, StreamChunk, ToolCallDelta, event_body::wrong_body,
        ndjson::NdjsonDecoder, sse::SseLimits, surrogates::Mended, tool_names,
        vendor_error::in_stream,
    },
    types::{AgentEvent, ItemKind, Json, MessageRole, ProviderItem, Text},
};

/// Decodes the body of an Ollama response, of `/api/chat` and of `/api/generate`.
///
/// A whole answer, as it comes without `stream`, is a stream of one line. The token numbers in
/// `context`, with which older clients of `/api/generate` go on, are left out: a conversation goes on
/// with its messages.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{BodyDecoder, ollama::OllamaDecoder};
///
/// let body = b"{\"message\":{\"content\":\"Hi\"},\"done\":false}\n{\"done\":true}\n";
/// let mut decoder = OllamaDecoder::default();
/// let mut text = String::new();
/// for bytes in body.chunks(7) {
///     decoder.push(bytes, &mut |chunk| text.push_str(&chunk.content))?;
/// }
/// decoder.finish(&mut |_| {})?;
/// assert_eq!(text, "Hi");
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
#[derive(Debug)]
pub struct OllamaDecoder {
    lines: NdjsonDecoder,
    received: u64,
    reader: LineReader,
}

impl Default for OllamaDecoder {
    fn default() -> Self {
        Self::new(SseLimits::default())
    }
}

impl OllamaDecoder {
    /// A decoder of lines up to `max_line_bytes`.
    #[must_use]
    pub fn new(limits: SseLimits) -> Self {
        Self {
            lines: NdjsonDecoder::new(limits.max_line_bytes),
            received: 0,
            reader: LineReader::default(),
        }
    }
}

impl BodyDecoder for OllamaDecoder {
    fn push(
        &mut self,
        bytes: &[u8],
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        self.received += bytes.len() as u64;
        let mut input = bytes;
        while let Some(line) = self.lines.next_line(&mut input)? {
            if let Err(fault) = self.reader.line(line, emit) {
                return Err(fault.into_error(self.lines.line_offset()));
            }
        }
        Ok(())
    }

    fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        if let Some(line) = self.lines.finish()? {
            match self.reader.line(line, emit) {
                Ok(()) | Err(Fault::Cut(_)) => {}
                Err(fault) => return Err(fault.into_error(self.lines.line_offset())),
            }
        }
        self.reader.end(emit);
        let progress = self.reader.progress();
        if let Some(error) = self.reader.error.take() {
            return Err(error);
        }
        match progress {
            Progress::Complete | Progress::Done => Ok(()),
            Progress::Open | Progress::Failed => {
                Err(ProviderError::EndedEarly { received: self.received })
            }
        }
    }

    fn progress(&self) -> Progress {
        self.reader.progress()
    }
}

/// What is wrong with a line.
#[derive(Debug)]
enum Fault {
    /// It ends inside its JSON.
    Cut(Text),
    /// It is no JSON object.
    NoObject(Text),
    /// It shows that the body is something else.
    OtherBody(Text),
}

impl Fault {
    fn into_error(self, offset: u64) -> ProviderError {
        match self {
            Self::Cut(reason) | Self::NoObject(reason) => ProviderError::Decode {
                offset,
                reason: Text::from(format!("a line is no JSON object: {reason}")),
            },
            Self::OtherBody(line) => wrong_body(&line, "answer of Ollama"),
        }
    }
}

/// Turns lines into chunks.
#[derive(Debug, Default)]
struct LineReader {
    phase: Phase,
    /// How many calls there were.
    calls: u32,
    role: Option<MessageRole>,
    model: Text,
    error: Option<ProviderError>,
    /// A line that ends in half a character: the next one may have the rest.
    half: Option<Mended>,
}

impl LineReader {
    fn progress(&self) -> Progress {
        match self.phase {
            Phase::Done => Progress::Done,
            _ if self.error.is_some() => Progress::Failed,
            Phase::Unknown | Phase::Open => Progress::Open,
        }
    }

    fn line(&mut self, line: &str, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), Fault> {
        if self.phase == Phase::Done {
            return Ok(());
        }
        let Some(mut half) = self.half.take() else { return self.read(line, emit) };
        let mut next = Mended::new(line);
        half.join(&mut next);
        self.read(half.json(), emit)?;
        self.mended(next, emit)
    }

    /// Reads a line without lone surrogates, once its last character is whole.
    fn mended(&mut self, line: Mended, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), Fault> {
        if line.is_open() {
            self.half = Some(line);
            return Ok(());
        }
        self.read(line.json(), emit)
    }

    /// The body ended: no other half of a character will come.
    fn end(&mut self, emit: &mut dyn FnMut(StreamChunk)) {
        if let Some(half) = self.half.take() {
            // It is kept only when it is JSON once it is mended; what it cannot say is lost anyway.
            drop(self.read(half.json(), emit));
        }
    }

    fn read(&mut self, line: &str, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), Fault> {
        let line = line.trim_start_matches('\u{FEFF}');
        let mut answer = Answer::default();
        if let Err(error) = wire::answer(line, &mut answer) {
            let mended = Mended::new(line);
            if mended.json() != line {
                return self.mended(mended, emit);
            }
            // A number that is cut is not at its end but invalid, in the words of the JSON library.
            let is_cut = error.is_eof() || (line.starts_with('{') && error.column() >= line.len());
            return Err(match self.phase {
                _ if is_cut => Fault::Cut(Text::from(error.to_string())),
                Phase::Unknown => Fault::OtherBody(Text::from(line)),
                Phase::Open | Phase::Done => Fault::NoObject(Text::from(error.to_string())),
            });
        }
        let error = match answer.error.map(RawValue::get) {
            Some("\"\"" | "{}" | "false") | None => None,
            raw => raw,
        };
        if self.phase.max(answer.phase) == Phase::Unknown && error.is_none() {
            return Err(Fault::OtherBody(Text::from(line)));
        }
        self.phase = answer.phase.max(Phase::Open);
        self.answer(answer, emit);
        if let Some(raw) = error {
            self.error.get_or_insert_with(|| in_stream(Some(raw), line));
        }
        Ok(())
    }

    /// Gives what a line says, in the order in which models write it.
    fn answer(&mut self, answer: Answer<'_>, emit: &mut dyn FnMut(StreamChunk)) {
        let mut out = StreamChunk::default();
        if self.role.is_none() && answer.role.0 == "assistant" {
            self.role = Some(MessageRole::Assistant);
            out.role = self.role;
        }
        if self.model.is_empty() && !answer.model.0.is_empty() {
            self.model = Text::from(&*answer.model.0);
            out.details.get_or_insert_default().model = Some(self.model.clone());
        }
        if let Some((usage, raw)) = answer.usage() {
            out.usage = Some(usage);
            out.details.get_or_insert_default().usage_raw = Some(raw);
        }
        if !answer.thinking.0.is_empty() {
            emit(StreamChunk::thinking(answer.thinking.0));
        }
        out.content = answer.content.0;
        for call in answer.calls {
            let function = call.function.0.unwrap_or_default();
            let mut delta = ToolCallDelta::new(self.calls).arguments(function.arguments());
            delta.id = Some(call.id.0).filter(|id| !id.is_empty());
            delta.name = Some(tool_names::decode(&function.name.0)).filter(|name| !name.is_empty());
            delta.ended = true;
            out.tool_calls.push(delta);
            self.calls += 1;
        }
        for image in answer.images {
            out.details.get_or_insert_default().events.extend(picture(image));
        }
        if answer.phase == Phase::Done {
            out.finished = true;
            let word = answer.done_reason.0;
            if !word.is_empty() {
                out.finish_reason = Some(wire::finish_reason(&word));
                out.details.get_or_insert_default().finish_reason_raw = Some(word);
            }
        }
        let says_something = !out.content.is_empty()
            || !out.tool_calls.is_empty()
            || out.role.is_some()
            || out.usage.is_some()
            || out.details.is_some()
            || out.finished;
        if says_something {
            emit(out);
        }
    }
}

/// A picture that the model made.
fn picture(raw: &RawValue) -> Option<AgentEvent> {
    let raw = Json::parse(raw.get()).ok()?;
    let media_type = Text::from(wire::picture_type(raw.as_str()));
    let kind = ItemKind::Media { media_type };
    Some(AgentEvent::ProviderItem(ProviderItem::new("ollama", kind, raw)))
}
