//! The body of a Responses response becomes chunks.

use serde_json::value::RawValue;

use super::{
    items::{Call, Kind},
    output::Output,
    place::Place,
    wire::{self, Event, Response},
};
use crate::{
    llm::{
        ChunkDetails, Progress, Protocol, ProviderError, StreamChunk,
        event_body::{EventReader, event_decoder},
        sse::SseEvent,
        surrogates::Mended,
        vendor_error::in_stream,
    },
    types::{AgentEvent, ErrorCode, Json, ProviderItem, Text},
};

event_decoder! {
    /// Decodes the body of a Responses response, as OpenAI and those compatible serve it.
    ///
    /// A stream of events is the rule. A body that starts with `{` is read as a whole answer, as a
    /// server sends it that does not stream; anything else is a [`ProviderError::Decode`] that says
    /// what came.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::{BodyDecoder, responses::ResponsesDecoder};
    ///
    /// let body = b"data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi\"}\n\n\
    ///     data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n";
    /// let mut decoder = ResponsesDecoder::default();
    /// let mut text = String::new();
    /// for bytes in body.chunks(7) {
    ///     decoder.push(bytes, &mut |chunk| text.push_str(&chunk.content))?;
    /// }
    /// decoder.finish(&mut |_| {})?;
    /// assert_eq!(text, "Hi");
    /// # Ok::<(), forgeline::llm::ProviderError>(())
    /// ```
    ResponsesDecoder, Reader
}

/// Most events of unknown types that are shown; further ones are left out.
const MAX_UNKNOWN_EVENTS: u32 = 1024;

/// Turns the JSON of events into chunks.
#[derive(Debug, Default)]
struct Reader {
    output: Output,
    is_over: bool,
    model: Text,
    response_id: Text,
    error: Option<ProviderError>,
    unknown_events: u32,
    /// An event that ends in half a character, and where it stands: the next one may have the rest.
    half: Option<(Mended, u64)>,
}

impl EventReader for Reader {
    fn event(
        &mut self,
        event: &SseEvent<'_>,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if self.is_over || event.data.is_empty() {
            return Ok(());
        }
        let Some((mut half, half_offset)) = self.half.take() else {
            return self.read(event.data, event.event, event.offset, emit);
        };
        let mut next = Mended::new(event.data);
        half.join(&mut next);
        self.read(half.json(), "", half_offset, emit)?;
        self.mended(next, event.event, event.offset, emit)
    }

    /// Reads a body that is one JSON value.
    fn whole(&mut self, text: &str, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ()> {
        let mended = Mended::new(text);
        let raw: &RawValue = serde_json::from_str(mended.json()).map_err(|_| ())?;
        let response: Response<'_> = serde_json::from_str(raw.get()).map_err(|_| ())?;
        let is_response = response.object.0 == "response" || response.output.is_some();
        match &*response.status.0 {
            "in_progress" | "queued" => self.identity(&response, emit),
            status if is_response => {
                let word = if status.is_empty() { "completed" } else { status };
                self.close(word, &response, emit);
            }
            _ => {
                let error = response.error.ok_or(())?;
                self.fail(in_stream(Some(error.get()), error.get()));
            }
        }
        Ok(())
    }

    /// The body ended: no other half of a character will come.
    fn end(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        self.half.take().map_or(Ok(()), |(half, offset)| self.read(half.json(), "", offset, emit))
    }

    fn take_error(&mut self) -> Option<ProviderError> {
        self.error.take()
    }

    fn progress(&self) -> Progress {
        match self.is_over {
            _ if self.error.is_some() => Progress::Failed,
            true => Progress::Done,
            false => Progress::Open,
        }
    }
}

impl Reader {
    /// Reads an event without lone surrogates, once its last character is whole.
    fn mended(
        &mut self,
        event: Mended,
        name: &str,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if event.is_open() && name != "error" {
            self.half = Some((event, offset));
            return Ok(());
        }
        self.read(event.json(), name, offset, emit)
    }

    fn read(
        &mut self,
        data: &str,
        name: &str,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            // OpenRouter's; what ends the answer is the event before it.
            return Ok(());
        }
        let mut event = Event::default();
        match wire::event(data, &mut event) {
            Ok(()) => {}
            Err(_) if name == "error" => {
                self.fail(in_stream(None, data));
                return Ok(());
            }
            Err(error) => {
                let mended = Mended::new(data);
                if mended.json() != data {
                    return self.mended(mended, name, offset, emit);
                }
                let reason = Text::from(format!("an event's data are no event: {error}"));
                return Err(ProviderError::Decode { offset, reason });
            }
        }
        // Raw values are read later, and a lone surrogate would spoil them.
        let may_be_torn = event.has_raw() && data.contains("\\u");
        let mended = may_be_torn.then(|| Mended::new(data)).filter(|it| it.json() != data);
        if let Some(mended) = &mended {
            event = Event::default();
            if wire::event(mended.json(), &mut event).is_err() {
                return Ok(());
            }
        }
        self.dispatch(&mut event, name, data, emit);
        if self.output.is_over_limit() {
            let reason = Text::from("the response has too many items, or too large ones");
            return Err(ProviderError::Decode { offset, reason });
        }
        Ok(())
    }

    fn dispatch(
        &mut self,
        event: &mut Event<'_>,
        name: &str,
        data: &str,
        emit: &mut dyn FnMut(StreamChunk),
    ) {
        let kind = std::mem::take(&mut event.kind.0);
        let is_typed = !kind.is_empty();
        let kind = if is_typed { &*kind } else { name };
        let output = &mut self.output;
        match kind.strip_prefix("response.").unwrap_or(kind) {
            "output_text.delta" => output.delta(Place::Text, event, emit),
            "refusal.delta" => output.delta(Place::Refusal, event, emit),
            "reasoning_text.delta" => output.delta(Place::Reasoning, event, emit),
            "reasoning_summary_text.delta" => output.delta(Place::Summary, event, emit),
            "function_call_arguments.delta" => {
                output.arguments(&Kind::Call(Call::default()), event, emit);
            }
            "custom_tool_call_input.delta" => output.arguments(&Kind::custom_call(), event, emit),
            "output_text.done" => output.text_done(Place::Text, event, emit),
            "refusal.done" => output.text_done(Place::Refusal, event, emit),
            "reasoning_text.done" => output.text_done(Place::Reasoning, event, emit),
            "reasoning_summary_text.done" => output.text_done(Place::Summary, event, emit),
            "function_call_arguments.done" => {
                output.arguments_done(&Kind::Call(Call::default()), event, emit);
            }
            "custom_tool_call_input.done" => {
                output.arguments_done(&Kind::custom_call(), event, emit);
            }
            "content_part.done" | "reasoning_part.done" | "reasoning_summary_part.done" => {
                output.part_done(event, emit);
            }
            "output_text.annotation.added" => output.annotation(event, emit),
            "output_item.added" => output.item_added(event, emit),
            "output_item.done" => output.item_done(event, emit),
            "created" | "queued" | "in_progress" => {
                let response = event.response.map(wire::value).unwrap_or_default();
                self.identity(&response, emit);
            }
            word @ ("completed" | "incomplete" | "failed" | "cancelled" | "done") => {
                let response: Response<'_> = event.response.map(wire::value).unwrap_or_default();
                let word = match &*response.status.0 {
                    status @ ("completed" | "incomplete" | "failed" | "cancelled") => status,
                    _ if word == "done" => "completed",
                    _ => word,
                };
                self.close(word, &response, emit);
            }
            "error" => self.error_event(event, data),
            _ if name == "error" || (!is_typed && event.error.is_some()) => {
                self.error_event(event, data);
            }
            // `message` is what data without a type or a name are.
            "" | "message" => {}
            word if is_progress(word) => {}
            _ => self.unknown(kind, data, emit),
        }
    }

    /// An event that is not known yet: shown as it came, and no part of the answer.
    fn unknown(&mut self, kind: &str, data: &str, emit: &mut dyn FnMut(StreamChunk)) {
        if self.unknown_events < MAX_UNKNOWN_EVENTS
            && let Ok(raw) = Json::parse(data)
        {
            self.unknown_events += 1;
            let item = ProviderItem::unknown_event(Protocol::OpenAiResponses.name(), kind, raw);
            emit(StreamChunk::events(vec![AgentEvent::ProviderItem(item)]));
        }
    }

    /// An error, alone or in a field of the event.
    fn error_event(&mut self, event: &Event<'_>, data: &str) {
        let raw = event.error.map_or(data, RawValue::get);
        self.fail(in_stream(Some(raw), raw));
    }

    fn fail(&mut self, error: ProviderError) {
        self.error.get_or_insert(error);
    }

    /// What an event says about the response that earlier ones did not.
    fn identity(&mut self, response: &Response<'_>, emit: &mut dyn FnMut(StreamChunk)) {
        if let Some(details) = self.news(response) {
            emit(StreamChunk { details: Some(details), ..StreamChunk::default() });
        }
    }

    fn news(&mut self, response: &Response<'_>) -> Option<Box<ChunkDetails>> {
        let mut details: Option<Box<ChunkDetails>> = None;
        if !response.model.0.is_empty() && self.model != *response.model.0 {
            self.model = Text::from(&*response.model.0);
            details.get_or_insert_default().model = Some(self.model.clone());
        }
        if !response.id.0.is_empty() && self.response_id != *response.id.0 {
            self.response_id = Text::from(&*response.id.0);
            details.get_or_insert_default().response_id = Some(self.response_id.clone());
        }
        details
    }

    /// The response is over; `word` says how.
    fn close(&mut self, word: &str, response: &Response<'_>, emit: &mut dyn FnMut(StreamChunk)) {
        self.output.list(response.output, emit);
        self.is_over = true;
        let mut details = self.news(response).unwrap_or_default();
        details.finish_reason_raw = Some(Text::from(word));
        details.usage_raw = response.usage.and_then(|raw| Json::parse(raw.get()).ok());
        emit(StreamChunk {
            finished: word != "cancelled",
            finish_reason: wire::finish_reason(word, response.incomplete_details),
            usage: response.usage.map(wire::usage),
            details: Some(details),
            ..StreamChunk::default()
        });
        let error = response.error.map(RawValue::get);
        if let Some(raw) = error.filter(|raw| !matches!(*raw, "\"\"" | "{}" | "false")) {
            // It says at least as much as an error event before it.
            self.error = Some(in_stream(Some(raw), raw));
        } else if let "failed" | "cancelled" = word {
            self.fail(unexplained(word));
        }
    }
}

/// Whether an event only tells how far something is that other events tell as a whole.
fn is_progress(word: &str) -> bool {
    const PROGRESS: [&str; 6] = [
        "keepalive",
        "ping",
        "rate_limits.updated",
        "content_part.added",
        "reasoning_part.added",
        "reasoning_summary_part.added",
    ];
    // Of the vendor's own tools: `web_search_call.searching`, `code_interpreter_call_code.delta`,
    // `mcp_list_tools.completed`, `image_generation_call.partial_image`.
    let of_tool = word.split_once('.').is_some_and(|(tool, _)| {
        ["_call", "_call_code", "_call_arguments", "_list_tools"]
            .iter()
            .any(|end| tool.ends_with(end))
    });
    of_tool || PROGRESS.contains(&word)
}

/// The error of a response that gives no reason for having failed.
fn unexplained(word: &str) -> ProviderError {
    let kind = if word == "cancelled" { ErrorCode::Cancelled } else { ErrorCode::InStream };
    ProviderError::InStream {
        kind,
        code: Some(Text::from(word)),
        message: Text::from(format!("the response was {word}, without a reason")),
        raw: None,
    }
}
