//! The decoder of Ollama responses.

use serde::de::IgnoredAny;

use serde_json::value::RawValue;

use super::{
    PROTOCOL,
    wire::{self, AnswerPhase, OllamaLine},
};
use crate::{
    BodyDecoder, Progress, ProviderError, StreamChunk, ToolCallDelta,
    decode::tool_name,
    decode::{
        EmitChunk, EventFault, EventReader, EventStream, OutSink, fill, finish_reason, in_stream,
        is_error, item, lax_json::arguments, reported, wrong_body,
    },
    ndjson::NdjsonDecoder,
    sse::SseLimits,
};
use forgeline_types::{ItemKind, Text};

/// A decoder for the body of an Ollama response, from `/api/chat` or `/api/generate`.
///
/// A whole answer, as sent without `stream`, is a stream of one line. The token numbers in
/// `context`, with which older clients of `/api/generate` continue, are left out: a conversation is continued
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
    stream: EventStream<LineReader>,
}

impl Default for OllamaDecoder {
    fn default() -> Self {
        Self::new(SseLimits::default())
    }
}

impl OllamaDecoder {
    /// Creates a decoder of lines up to `max_line_bytes` long.
    #[must_use]
    pub fn new(limits: SseLimits) -> Self {
        let lines = NdjsonDecoder::new(limits.max_line_bytes);
        Self { lines, received: 0, stream: EventStream::default() }
    }
}

impl BodyDecoder for OllamaDecoder {
    fn push(&mut self, bytes: &[u8], emit: EmitChunk<'_>) -> Result<(), ProviderError> {
        self.received += bytes.len() as u64;
        let mut input = bytes;
        while let Some((line, offset)) = self.lines.next_line_at(&mut input)? {
            read_line(&mut self.stream, line, offset, emit)?;
        }
        Ok(())
    }

    fn finish(&mut self, emit: EmitChunk<'_>) -> Result<(), ProviderError> {
        let offset = self.lines.line_offset();
        if let Some(line) = self.lines.finish()? {
            read_line(&mut self.stream, line, offset, emit)
                .or_else(|error| if is_cut(line) { Ok(()) } else { Err(error) })?;
        }
        let early = ProviderError::EndedEarly { received: self.received };
        if self.stream.finish(emit)? { Ok(()) } else { Err(early) }
    }

    fn progress(&self) -> Progress {
        self.stream.progress()
    }
}

/// Reads a line; if the first one does not begin an answer, the body is something else.
fn read_line(
    stream: &mut EventStream<LineReader>,
    line: &str,
    offset: u64,
    emit: EmitChunk<'_>,
) -> Result<(), ProviderError> {
    let line = line.trim_start_matches('\u{FEFF}');
    let read = stream.event("", line, offset, emit);
    if read.is_err() && stream.reader().phase == AnswerPhase::Unknown && !is_cut(line) {
        return Err(wrong_body(line, "an answer of Ollama"));
    }
    read
}

/// Returns `true` for a line whose JSON is incomplete.
fn is_cut(line: &str) -> bool {
    // A truncated number is not reported as an early end but as invalid by the JSON library.
    serde_json::from_str::<IgnoredAny>(line).is_err_and(|error| {
        error.is_eof() || (line.starts_with('{') && error.column() >= line.len())
    })
}

/// Decodes lines into chunks.
#[derive(Debug, Default)]
struct LineReader {
    phase: AnswerPhase,
    /// The number of calls so far.
    calls: u32,
}

impl EventReader for LineReader {
    const PROTOCOL: &'static str = PROTOCOL;
    const PADDING: &'static [&'static str] = &["created_at"];

    fn event(&mut self, _name: &str, line: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let mut answer = OllamaLine::default();
        fill(line, &mut answer)?;
        let is_error = answer.phase == AnswerPhase::Unknown && is_error(line);
        let error = reported(answer.error).or_else(|| is_error.then_some(line));
        if self.phase.max(answer.phase) == AnswerPhase::Unknown && error.is_none() {
            sink.stray(line);
            if sink.has_failed() {
                return Ok(());
            }
            return Err(EventFault::data("not an answer"));
        }
        self.phase = answer.phase.max(AnswerPhase::Open);
        if self.phase == AnswerPhase::Done {
            sink.set_progress(Progress::Done);
        }
        if error.is_none() && !answer.more.is_empty() {
            sink.unknown_members("answer", &answer.more);
        }
        self.answer(answer, line, sink);
        if let Some(raw) = error {
            sink.fail(in_stream(Some(raw), line));
        }
        Ok(())
    }
}

impl LineReader {
    /// Emits the contents of a line, in the order in which models write them.
    fn answer(&mut self, answer: OllamaLine<'_>, line: &str, sink: &mut OutSink<'_>) {
        let role = sink.role(&answer.role.0);
        let mut out = StreamChunk { role, ..StreamChunk::default() };
        sink.identify(&answer.model.0, "", &mut out.details);
        sink.may_repeat();
        sink.thinking(answer.thinking.0);
        out.content = answer.content.0;
        for call in answer.calls.into_members().filter_map(|call| call.0) {
            if call.present_members().next().is_none() {
                continue;
            }
            let arguments = arguments(call.get("function.arguments").map(RawValue::get));
            let mut delta = ToolCallDelta::new(self.calls).arguments(arguments);
            delta.id = call.first_text(&["id"]);
            let name = call.first_text(&["function.name"]);
            delta.name = name.map(|name| tool_name(&name));
            delta.ended = true;
            out.tool_calls.push(delta);
            self.calls += 1;
        }
        for image in answer.images {
            let media_type = Text::from(wire::picture_type(image.get()));
            let picture = item(PROTOCOL, ItemKind::media(media_type), image.get());
            out.details.get_or_insert_default().events.extend(picture);
        }
        if !answer.rest.is_empty() {
            sink.unknown_members("message", &answer.rest);
        }
        if answer.phase == AnswerPhase::Done {
            out.finished = true;
            out.set_usage(&wire::USAGE, wire::counters(line).as_deref());
            out.set_finish_reason(finish_reason(&answer.done_reason.0), &answer.done_reason.0);
        }
        sink.emit_some(out);
    }
}
