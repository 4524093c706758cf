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
        Progress, Protocol, ProviderError, StreamChunk,
        decode::{
            Emit, EventReader, Fault, StreamState, emit_details, event_decoder,
            lax_json::{Into, fill, value},
            vendor_error::{in_stream, reported},
        },
    },
    types::{ErrorCode, Text},
};

event_decoder! {
    /// A decoder for the body of a Responses response, as OpenAI and compatible servers send it.
    ///
    /// The body is a stream of events, or one JSON object, as a server sends it that does not stream;
    /// anything else is a [`ProviderError::Decode`](crate::llm::ProviderError::Decode) that quotes its
    /// beginning.
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
    ResponsesDecoder, Output
}

impl EventReader for Output {
    fn event(
        &mut self,
        name: &str,
        data: &str,
        state: &mut StreamState,
        emit: Emit<'_>,
    ) -> Result<(), Fault> {
        let mut event = Event::default();
        fill(data, Into(&mut event))?;
        self.dispatch(&mut event, name, data, state, emit);
        if self.is_over_limit() {
            return Err(Fault::Limit("the response has too many items, or too large ones"));
        }
        Ok(())
    }

    fn whole(&mut self, text: &str, state: &mut StreamState, emit: Emit<'_>) -> Result<(), Fault> {
        let response: Response<'_> = serde_json::from_str(text)?;
        let is_response = response.object.0 == "response" || response.output.is_some();
        match &*response.status.0 {
            "in_progress" | "queued" => identify(&response, state, emit),
            status if is_response => {
                let word = if status.is_empty() { "completed" } else { status };
                self.close(word, &response, state, emit);
            }
            _ => {
                let error = response.error.ok_or(Fault::Data(Text::from("no output")))?;
                state.fail(in_stream(Some(error.get()), error.get()));
            }
        }
        Ok(())
    }
}

impl Output {
    fn dispatch(
        &mut self,
        event: &mut Event<'_>,
        name: &str,
        data: &str,
        state: &mut StreamState,
        emit: Emit<'_>,
    ) {
        let kind = std::mem::take(&mut event.kind.0);
        let is_typed = !kind.is_empty();
        let kind = if is_typed { &*kind } else { name };
        match kind.strip_prefix("response.").unwrap_or(kind) {
            "output_text.delta" => self.delta(Place::Text, event, emit),
            "refusal.delta" => self.delta(Place::Refusal, event, emit),
            "reasoning_text.delta" => self.delta(Place::Reasoning, event, emit),
            "reasoning_summary_text.delta" => self.delta(Place::Summary, event, emit),
            "function_call_arguments.delta" => {
                self.arguments(&Kind::Call(Call::default()), event, emit);
            }
            "custom_tool_call_input.delta" => self.arguments(&Kind::custom_call(), event, emit),
            "output_text.done" => self.text_done(Place::Text, event, emit),
            "refusal.done" => self.text_done(Place::Refusal, event, emit),
            "reasoning_text.done" => self.text_done(Place::Reasoning, event, emit),
            "reasoning_summary_text.done" => self.text_done(Place::Summary, event, emit),
            "function_call_arguments.done" => {
                self.arguments_done(&Kind::Call(Call::default()), event, emit);
            }
            "custom_tool_call_input.done" => self.arguments_done(&Kind::custom_call(), event, emit),
            "content_part.done" | "reasoning_part.done" | "reasoning_summary_part.done" => {
                self.part_done(event, emit);
            }
            "output_text.annotation.added" => self.annotation(event, emit),
            "output_item.added" => self.item_added(event, state, emit),
            "output_item.done" => self.item_done(event, state, emit),
            "created" | "queued" | "in_progress" => {
                identify(&event.response.map(value).unwrap_or_default(), state, emit);
            }
            word @ ("completed" | "incomplete" | "failed" | "cancelled" | "done") => {
                let response: Response<'_> = event.response.map(value).unwrap_or_default();
                let word = match &*response.status.0 {
                    status @ ("completed" | "incomplete" | "failed" | "cancelled") => status,
                    _ if word == "done" => "completed",
                    _ => word,
                };
                self.close(word, &response, state, emit);
            }
            word if word == "error" || name == "error" || (!is_typed && event.error.is_some()) => {
                let raw = event.error.map_or(data, RawValue::get);
                state.fail(in_stream(Some(raw), raw));
            }
            // `message` is the kind of data without a type or a name.
            "" | "message" => {}
            word if is_progress(word) => {}
            _ => state.unknown_event(Protocol::OpenAiResponses.name(), kind, data, emit),
        }
    }

    /// Ends the response as `word` says.
    fn close(
        &mut self,
        word: &str,
        response: &Response<'_>,
        state: &mut StreamState,
        emit: Emit<'_>,
    ) {
        self.list(response.output, state, emit);
        state.progress = Progress::Done;
        let mut chunk = StreamChunk { finished: word != "cancelled", ..StreamChunk::default() };
        state.identify_again(&response.model.0, &response.id.0, &mut chunk.details);
        if let Some(raw) = response.usage {
            chunk.set_usage(wire::usage(raw), raw);
        }
        chunk.finish_reason = wire::finish_reason(word, response.incomplete_details);
        chunk.details.get_or_insert_default().finish_reason_raw = Some(Text::from(word));
        emit(chunk);
        if let Some(raw) = reported(response.error) {
            state.fail_again(in_stream(Some(raw), raw));
        } else if let "failed" | "cancelled" = word {
            state.fail(unexplained(word));
        }
        if state.has_failed() {
            state.progress = Progress::Failed;
        }
    }
}

/// Reports what an event has of the response that earlier ones had not.
fn identify(response: &Response<'_>, state: &mut StreamState, emit: Emit<'_>) {
    let mut details = None;
    state.identify_again(&response.model.0, &response.id.0, &mut details);
    emit_details(details, emit);
}

/// Returns `true` for an event that only reports the progress of what other events report as a whole.
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

/// Returns the error of a response that failed without a reason.
fn unexplained(word: &str) -> ProviderError {
    let kind = if word == "cancelled" { ErrorCode::Cancelled } else { ErrorCode::InStream };
    ProviderError::InStream {
        kind,
        code: Some(Text::from(word)),
        message: Text::from(format!("the response was {word}, without a reason")),
        raw: None,
    }
}
