//! The decoder of Responses responses.

use serde_json::value::RawValue;

use super::{
    PROTOCOL,
    items::{CallProgress, OutputItemKind, TextPlace},
    output::ResponsesOutput,
    wire::ResponsesEvent,
};
use crate::{
    Progress, ProviderError, StreamChunk,
    decode::{
        EventFault, EventReader, JsonEntries, OutSink, UsagePaths, event_decoder, fill, in_stream,
        reported,
    },
};
use forgeline_types::{ErrorCode, FinishReason, Text};

const USAGE: UsagePaths = UsagePaths {
    input: &["input_tokens"],
    output: &["output_tokens"],
    cache_read: &["input_tokens_details.cached_tokens"],
    cache_write: &["input_tokens_details.cache_write_tokens"],
    reasoning: &["output_tokens_details.reasoning_tokens"],
};

event_decoder! {
    /// A decoder for the body of a Responses response, as sent by OpenAI and compatible servers.
    ///
    /// The body is a stream of events, or one JSON object from a server that does not stream;
    /// anything else is a [`ProviderError::Decode`](crate::ProviderError::Decode) that quotes its
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
    ResponsesDecoder, ResponsesOutput
}

impl EventReader for ResponsesOutput {
    const PROTOCOL: &'static str = PROTOCOL;
    const PADDING: &'static [&'static str] = &["sequence_number", "obfuscation"];

    fn event(&mut self, name: &str, data: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let mut event = ResponsesEvent::default();
        fill(data, &mut event)?;
        self.dispatch(&mut event, name, data, sink);
        self.check_limit()
    }

    fn whole(&mut self, text: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let response: JsonEntries<'_> = serde_json::from_str(text)?;
        let is_response = response.text("object") == "response" || response.get("output").is_some();
        match response.text("status").as_str() {
            "in_progress" | "queued" => identify(&response, sink),
            status if is_response => {
                let word = if status.is_empty() { "completed" } else { status };
                self.close(word, &response, sink);
            }
            _ => {
                let error = response.get("error").ok_or(EventFault::data("no output"))?;
                sink.fail_with(error.get());
            }
        }
        self.check_limit()
    }
}

impl ResponsesOutput {
    /// Fails if there are more or larger items than any server sends.
    fn check_limit(&self) -> Result<(), EventFault> {
        let is_over = self.is_over_limit();
        let limit = || EventFault::Limit("the response has too many items, or too large ones");
        if is_over { Err(limit()) } else { Ok(()) }
    }

    fn dispatch(
        &mut self,
        event: &mut ResponsesEvent<'_>,
        name: &str,
        data: &str,
        sink: &mut OutSink<'_>,
    ) {
        let kind = std::mem::take(&mut event.kind.0);
        let is_typed = !kind.is_empty();
        let kind = if is_typed { &*kind } else { name };
        if kind == "response.output_text.delta" && event.rest.is_empty() {
            return self.delta(TextPlace::Text, event, sink);
        }
        let word_begins = kind == "response.created";
        match kind.strip_prefix("response.").unwrap_or(kind) {
            "output_text.delta" => self.delta(TextPlace::Text, event, sink),
            "refusal.delta" => self.delta(TextPlace::Refusal, event, sink),
            "reasoning_text.delta" => self.delta(TextPlace::Reasoning, event, sink),
            "reasoning_summary_text.delta" => self.delta(TextPlace::Summary, event, sink),
            "function_call_arguments.delta" => {
                self.arguments(&OutputItemKind::Call(CallProgress::default()), event, sink);
            }
            "custom_tool_call_input.delta" => {
                self.arguments(&OutputItemKind::custom_call(), event, sink);
            }
            "output_text.done" => self.text_done(TextPlace::Text, event, sink),
            "refusal.done" => self.text_done(TextPlace::Refusal, event, sink),
            "reasoning_text.done" => self.text_done(TextPlace::Reasoning, event, sink),
            "reasoning_summary_text.done" => self.text_done(TextPlace::Summary, event, sink),
            "function_call_arguments.done" => {
                self.arguments_done(&OutputItemKind::Call(CallProgress::default()), event, sink);
            }
            "custom_tool_call_input.done" => {
                self.arguments_done(&OutputItemKind::custom_call(), event, sink);
            }
            "content_part.done" | "reasoning_part.done" | "reasoning_summary_part.done" => {
                self.part_done(event, sink);
            }
            "output_text.annotation.added" => self.annotation(event, sink),
            "output_item.added" => self.item_added(event, sink),
            "output_item.done" => self.item_done(event, sink),
            "created" | "queued" | "in_progress" => {
                let response = JsonEntries::from_raw(event.response);
                if word_begins && self.is_another(&response.text("id"), sink.response_id()) {
                    return sink.splice();
                }
                self.offered(&response);
                identify(&response, sink);
            }
            word @ ("completed" | "incomplete" | "failed" | "cancelled" | "done") => {
                let response = JsonEntries::from_raw(event.response);
                let status = response.text("status");
                let word = match status.as_str() {
                    status @ ("completed" | "incomplete" | "failed" | "cancelled") => status,
                    _ if word == "done" => "completed",
                    _ => word,
                };
                self.close(word, &response, sink);
            }
            word if word == "error" || name == "error" || (!is_typed && event.error.is_some()) => {
                return sink.fail_with(event.error.map_or(data, RawValue::get));
            }
            // `message` is the event name of data without a type or a name.
            "" | "message" => return sink.stray(data),
            word if is_progress(word) => return,
            _ => return sink.unknown_event(kind, data),
        }
        if !event.rest.is_empty() {
            sink.unknown_members("event", &event.rest);
        }
    }

    /// Ends the response with the status `word`.
    fn close(&mut self, word: &str, response: &JsonEntries<'_>, sink: &mut OutSink<'_>) {
        self.offered(response);
        self.list(response.get("output"), sink);
        if self.is_over_limit() {
            return;
        }
        sink.set_progress(Progress::Done);
        let mut chunk = StreamChunk { finished: word != "cancelled", ..StreamChunk::default() };
        sink.identify_again(&response.text("model"), &response.text("id"), &mut chunk.details);
        chunk.set_usage(&USAGE, response.get("usage"));
        chunk.finish_reason = finish_reason(word, &response.text("incomplete_details.reason"));
        chunk.details.get_or_insert_default().finish_reason_raw = Some(Text::from(word));
        sink.emit(chunk);
        if let Some(raw) = reported(response.get("error")) {
            sink.fail_again(in_stream(Some(raw), raw));
        } else if let "failed" | "cancelled" = word {
            sink.fail(unexplained(word));
        }
        if sink.has_failed() {
            sink.set_progress(Progress::Failed);
        }
    }
}

/// Returns the finish reason for a status; `None` for a response that failed.
fn finish_reason(status: &str, incomplete: &str) -> Option<FinishReason> {
    Some(match (status, incomplete) {
        ("completed", _) => FinishReason::Stop,
        ("failed", _) => return None,
        ("incomplete", "max_output_tokens") => FinishReason::Length,
        ("incomplete", "content_filter") => FinishReason::ContentFilter,
        (_, "") => FinishReason::Other(Text::from(status)),
        (_, reason) => FinishReason::Other(Text::from(reason)),
    })
}

/// Records the facts in an event about the response that earlier ones did not have.
fn identify(response: &JsonEntries<'_>, sink: &mut OutSink<'_>) {
    let mut chunk = StreamChunk::default();
    sink.identify_again(&response.text("model"), &response.text("id"), &mut chunk.details);
    sink.emit_some(chunk);
}

/// Returns `true` for an event that only reports progress on something that other events report completely.
fn is_progress(word: &str) -> bool {
    const PROGRESS: [&str; 6] = [
        "keepalive",
        "ping",
        "rate_limits.updated",
        "content_part.added",
        "reasoning_part.added",
        "reasoning_summary_part.added",
    ];
    // Events of the vendor's own tools: `web_search_call.searching`, `code_interpreter_call_code.delta`,
    // `mcp_list_tools.completed`, `image_generation_call.partial_image`.
    let of_tool = word.split_once('.').is_some_and(|(tool, step)| {
        ["_call", "_call_code", "_call_arguments", "_list_tools"]
            .iter()
            .any(|end| tool.ends_with(end))
            // `shell_call_command.delta`, `apply_patch_call_operation_diff.delta`: the item contains everything.
            || (tool.contains("_call_") && matches!(step, "added" | "delta" | "done"))
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
