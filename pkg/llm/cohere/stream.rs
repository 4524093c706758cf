//! The body of a Cohere response becomes chunks.

use serde_json::value::RawValue;

use super::wire::{self, Call, Event, Message};
use crate::{
    llm::{
        ChunkDetails, Progress, ProviderError, StreamChunk, ToolCallDelta,
        event_body::{EventReader, event_decoder},
        sse::SseEvent,
        surrogates::Mended,
        tool_names,
        vendor_error::in_stream,
    },
    types::{AgentEvent, Json, MessageRole, Text},
};

/// Most calls of one response. Each delta is looked up among them.
const MAX_CALLS: usize = 1024;
/// What is said of an answer that failed without a word.
const UNFINISHED: &str = "the model could not finish";

event_decoder! {
    /// Decodes the body of a Cohere response, version 2 of the API.
    ///
    /// A stream of events is the rule; a body that starts with `{` is read as a whole answer. The plan
    /// that a model makes before its calls is thinking. An answer that ends with `ERROR` or `TIMEOUT` is given, and
    /// then fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::{BodyDecoder, cohere::CohereDecoder};
    ///
    /// let body = b"data: {\"type\":\"content-delta\",\"delta\":{\"message\":{\"content\":{\"text\":\"Hi\"}}}}\n\n\
    ///              data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\"}}\n\n";
    /// let mut decoder = CohereDecoder::default();
    /// let mut text = String::new();
    /// for bytes in body.chunks(7) {
    ///     decoder.push(bytes, &mut |chunk| text.push_str(&chunk.content))?;
    /// }
    /// decoder.finish(&mut |_| {})?;
    /// assert_eq!(text, "Hi");
    /// # Ok::<(), forgeline::llm::ProviderError>(())
    /// ```
    CohereDecoder, Reader
}

/// Turns the JSON of events into chunks.
#[derive(Debug)]
struct Reader {
    progress: Progress,
    /// The vendor's index of each call.
    calls: Vec<Option<u32>>,
    error: Option<ProviderError>,
}

impl Default for Reader {
    fn default() -> Self {
        Self { progress: Progress::Open, calls: Vec::new(), error: None }
    }
}

impl EventReader for Reader {
    fn event(
        &mut self,
        event: &SseEvent<'_>,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if data.is_empty() || self.progress == Progress::Done {
            return Ok(());
        }
        if data == "[DONE]" {
            if self.progress == Progress::Complete {
                self.progress = Progress::Done;
            }
            return Ok(());
        }
        let read = |data| serde_json::from_str::<Event<'_>>(data);
        match read(data) {
            Ok(parsed) => self.read(event.event, parsed, data, emit),
            Err(_) if event.event == "error" => self.fail(in_stream(None, data)),
            Err(error) => {
                // A gateway that cuts text between UTF-16 units leaves half characters.
                let mended = Mended::new(data);
                let parsed = if mended.json() == data { Err(error) } else { read(mended.json()) };
                let parsed = parsed.map_err(|error| ProviderError::Decode {
                    offset: event.offset,
                    reason: Text::from(format!("an event's data are no event: {error}")),
                })?;
                self.read(event.event, parsed, data, emit);
            }
        }
        if self.calls.len() > MAX_CALLS {
            let reason = Text::from("the response has too many calls");
            return Err(ProviderError::Decode { offset: event.offset, reason });
        }
        Ok(())
    }

    fn whole(&mut self, text: &str, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ()> {
        let mended = Mended::new(text);
        let answer: Event<'_> = serde_json::from_str(mended.json()).map_err(|_| ())?;
        let raw = answer.message.map_or("", RawValue::get);
        if !raw.starts_with('{') || answer.finish_reason.0.is_empty() {
            if answer.error.is_none() && !raw.starts_with('"') {
                return Err(());
            }
            self.fail(in_stream(Some(text), text));
            return Ok(());
        }
        let message: Message<'_> = serde_json::from_str(raw).map_err(|_| ())?;
        begin(&answer.id.0, &message.role.0, emit);
        self.say(message, None, emit);
        self.end_answer(&answer.finish_reason.0, answer.usage, emit);
        if is_failure(&answer.finish_reason.0) {
            self.fail(in_stream(None, UNFINISHED));
        }
        Ok(())
    }

    fn take_error(&mut self) -> Option<ProviderError> {
        self.error.take()
    }

    fn progress(&self) -> Progress {
        match self.progress {
            Progress::Done => Progress::Done,
            _ if self.error.is_some() => Progress::Failed,
            Progress::Open | Progress::Failed | Progress::Complete => self.progress,
        }
    }
}

impl Reader {
    fn read(
        &mut self,
        name: &str,
        event: Event<'_>,
        data: &str,
        emit: &mut dyn FnMut(StreamChunk),
    ) {
        let kind = if event.kind.0.is_empty() { name } else { &*event.kind.0 };
        let delta = event.delta.0.unwrap_or_default();
        let message = delta.message.0.unwrap_or_default();
        match kind {
            "message-start" => {
                begin(&event.id.0, &message.role.0, emit);
                self.say(message, event.index.0, emit);
            }
            "tool-call-start" => {
                for call in message.tool_calls.0.into_members() {
                    self.start_call(call, event.index.0, emit);
                }
            }
            "tool-call-end" => {
                if let Some(index) = self.find(event.index.0) {
                    let ended = ToolCallDelta { ended: true, ..ToolCallDelta::new(index) };
                    emit(StreamChunk::calls(vec![ended]));
                }
            }
            "message-end" => {
                self.end_answer(&delta.finish_reason.0, delta.usage, emit);
                let raw = delta.error.map(RawValue::get).filter(|raw| *raw != "\"\"");
                if raw.is_some() || is_failure(&delta.finish_reason.0) {
                    self.fail(in_stream(raw, raw.unwrap_or(UNFINISHED)));
                }
            }
            "error" => {
                let raw = event.error.map_or(data, RawValue::get);
                self.fail(in_stream(Some(raw), raw));
            }
            // Deltas, and kinds that add to the message in a way that is not known yet.
            _ => {
                if let Some(raw) = event.error.map(RawValue::get) {
                    self.fail(in_stream(Some(raw), raw));
                } else if kind == "message" && event.message.is_some() {
                    // An event without name or type is one.
                    self.fail(in_stream(Some(data), data));
                }
                self.say(message, event.index.0, emit);
            }
        }
    }

    /// Passes on what a message or a delta of it says.
    fn say(&mut self, message: Message<'_>, index: Option<u32>, emit: &mut dyn FnMut(StreamChunk)) {
        if !message.tool_plan.0.is_empty() {
            emit(StreamChunk::thinking(message.tool_plan.0));
        }
        for content in message.content.0.into_members() {
            if !content.thinking.0.is_empty() {
                emit(StreamChunk::thinking(content.thinking.0));
            }
            if !content.text.0.is_empty() {
                emit(StreamChunk::message(content.text.0));
            }
        }
        for call in message.tool_calls.0.into_members() {
            match self.find(index) {
                Some(at) if call.id.0.is_empty() => {
                    let function = call.function.0.unwrap_or_default();
                    let delta = ToolCallDelta::new(at).arguments(function.arguments.0);
                    emit(StreamChunk::calls(vec![delta]));
                }
                _ => self.start_call(call, index, emit),
            }
        }
        let items = message.citations.map(wire::citations).unwrap_or_default();
        if !items.is_empty() {
            emit(StreamChunk::events(items.into_iter().map(AgentEvent::ProviderItem).collect()));
        }
    }

    fn start_call(&mut self, call: Call, index: Option<u32>, emit: &mut dyn FnMut(StreamChunk)) {
        let Ok(at) = u32::try_from(self.calls.len()) else { return };
        if self.calls.len() > MAX_CALLS {
            return;
        }
        self.calls.push(index);
        let function = call.function.0.unwrap_or_default();
        let mut delta = ToolCallDelta::new(at).arguments(function.arguments.0);
        delta.id = Some(call.id.0).filter(|id| !id.is_empty());
        delta.name = Some(tool_names::decode(&function.name.0));
        emit(StreamChunk::calls(vec![delta]));
    }

    /// The call that an event with this index belongs to: the latest, when several had it or when
    /// there is none.
    fn find(&self, index: Option<u32>) -> Option<u32> {
        let at = self.calls.iter().rposition(|known| *known == index);
        u32::try_from(at.or(self.calls.len().checked_sub(1))?).ok()
    }

    fn end_answer(
        &mut self,
        word: &str,
        usage: Option<&RawValue>,
        emit: &mut dyn FnMut(StreamChunk),
    ) {
        let details = ChunkDetails {
            finish_reason_raw: Some(Text::from(word)).filter(|word| !word.is_empty()),
            usage_raw: usage.and_then(|raw| Json::parse(raw.get()).ok()),
            ..ChunkDetails::default()
        };
        self.progress = Progress::Complete;
        emit(StreamChunk {
            finished: true,
            finish_reason: details.finish_reason_raw.as_deref().map(wire::finish_reason),
            usage: usage.map(wire::usage),
            details: Some(Box::new(details)),
            ..StreamChunk::default()
        });
    }

    fn fail(&mut self, error: ProviderError) {
        self.error.get_or_insert(error);
    }
}

/// Whether a model that stops for this reason has failed.
fn is_failure(word: &str) -> bool {
    matches!(word, "ERROR" | "TIMEOUT")
}

fn begin(id: &str, role: &str, emit: &mut dyn FnMut(StreamChunk)) {
    let role = (role == "assistant").then_some(MessageRole::Assistant);
    let mut chunk = StreamChunk { role, ..StreamChunk::default() };
    if !id.is_empty() {
        chunk.details.get_or_insert_default().response_id = Some(Text::from(id));
    }
    if chunk != StreamChunk::default() {
        emit(chunk);
    }
}
