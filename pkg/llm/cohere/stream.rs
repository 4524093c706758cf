//! The decoder of Cohere responses.

use std::mem::take;

use serde_json::value::RawValue;

use super::{
    PROTOCOL,
    wire::{self, CohereEvent, CohereMessage},
};
use crate::{
    Progress, StreamChunk, ToolCallDelta,
    decode::tool_name,
    decode::{
        CallDelta, EventFault, EventReader, OutSink, UsagePaths, event_decoder, fill,
        finish_reason, in_stream, lax_json::is_text, reported,
    },
};

/// The paths of the counts: those in `tokens`, not the billed units.
const USAGE: UsagePaths = UsagePaths {
    input: &["tokens.input_tokens"],
    output: &["tokens.output_tokens"],
    cache_read: &["cached_tokens"],
    cache_write: &[],
    reasoning: &["tokens.reasoning_tokens"],
};

/// The kinds of events that may be empty.
const KINDS: [&str; 7] = [
    "content-start",
    "content-delta",
    "content-end",
    "tool-plan-delta",
    "tool-call-delta",
    "citation-start",
    "citation-end",
];

/// Maximum number of calls in one response. Each delta is looked up among them.
const MAX_CALLS: usize = 1024;

/// The message of an answer that failed without an error message.
const UNFINISHED: &str = "the model could not finish";

event_decoder! {
    /// A decoder for the body of a Cohere response, version 2 of the API.
    ///
    /// The body is a stream of events or one JSON object. The plan that a model writes before its calls becomes
    /// thinking. An answer that ends with `ERROR` or `TIMEOUT` is emitted, followed by an error.
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
    CohereDecoder, CohereReader
}

/// Decodes the JSON of events into chunks.
#[derive(Debug, Default)]
struct CohereReader {
    /// The vendor's index of each call.
    calls: Vec<Option<u32>>,
    has_begun: bool,
}

impl EventReader for CohereReader {
    const PROTOCOL: &'static str = PROTOCOL;

    fn event(&mut self, name: &str, data: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let mut event = CohereEvent::default();
        fill(data, &mut event)?;
        self.read_event(name, &mut event, data, sink);
        self.check_limit()
    }

    fn whole(&mut self, text: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let mut answer = CohereEvent::default();
        fill(text, &mut answer)?;
        let raw = answer.message.unwrap_or(RawValue::NULL);
        if !raw.get().starts_with('{') || answer.finish_reason.0.is_empty() {
            if answer.error.is_none() && !is_text(raw) {
                return Err(EventFault::data("no message"));
            }
            sink.fail_with(text);
            return Ok(());
        }
        let mut message = CohereMessage::default();
        fill(raw.get(), &mut message)?;
        begin(&answer.id.0, &message.role.0, sink);
        self.say(&mut message, None, sink);
        self.check_limit()?;
        end(&answer.finish_reason.0, answer.usage, None, sink);
        Ok(())
    }
}

impl CohereReader {
    fn read_event(
        &mut self,
        name: &str,
        event: &mut CohereEvent<'_>,
        data: &str,
        sink: &mut OutSink<'_>,
    ) {
        let kind = if event.kind.0.is_empty() { name } else { &*event.kind.0 };
        let delta = &mut event.delta;
        let message = &mut delta.message;
        match kind {
            "message-start" => {
                if std::mem::replace(&mut self.has_begun, true) {
                    return sink.splice();
                }
                begin(&event.id.0, &message.role.0, sink);
                self.say(message, event.index.0, sink);
            }
            "tool-call-start" => {
                for call in take(&mut message.tool_calls).0.into_members() {
                    self.start_call(call, event.index.0, sink);
                }
            }
            "tool-call-end" => {
                if let Some(index) = self.find(event.index.0) {
                    sink.call(ToolCallDelta { ended: true, ..ToolCallDelta::new(index) });
                }
            }
            "message-end" => end(&delta.finish_reason.0, delta.usage, delta.error, sink),
            "error" => sink.fail_with(event.error.map_or(data, RawValue::get)),
            // Deltas, and kinds that add to the message in a way that is not yet known.
            _ => {
                if let Some(raw) = reported(event.error) {
                    sink.fail_with(raw);
                } else if kind == "message" && event.message.is_some() {
                    // An event without name or type is an error.
                    sink.fail_with(data);
                } else if matches!(kind, "" | "message") {
                    sink.stray(data);
                } else if !message.says_something() && !KINDS.contains(&kind) {
                    return sink.unknown_event(kind, data);
                }
                self.say(message, event.index.0, sink);
            }
        }
        if !event.rest.is_empty() || !event.delta.rest.is_empty() {
            sink.unknown_members("event", &event.rest);
            sink.unknown_members("delta", &event.delta.rest);
        }
    }

    /// Fails if there are more calls than any server sends.
    fn check_limit(&self) -> Result<(), EventFault> {
        let is_over = self.calls.len() > MAX_CALLS;
        if is_over { Err(EventFault::Limit("the response has too many calls")) } else { Ok(()) }
    }

    /// Emits a message or one of its deltas.
    fn say(&mut self, message: &mut CohereMessage<'_>, index: Option<u32>, sink: &mut OutSink<'_>) {
        sink.may_repeat();
        sink.thinking(take(&mut message.tool_plan.0));
        for content in take(&mut message.content).0.into_members() {
            sink.thinking(content.thinking.0);
            sink.text(content.text.0);
            sink.unknown_members("content", &content.rest);
        }
        for call in take(&mut message.tool_calls).0.into_members() {
            match self.find(index) {
                Some(at) if call.id.0.is_empty() => {
                    let function = call.function.0.unwrap_or_default();
                    sink.call(ToolCallDelta::new(at).arguments(function.arguments.0));
                }
                _ => self.start_call(call, index, sink),
            }
        }
        if let Some(raw) = message.citations {
            wire::citations(raw, sink);
        }
        sink.unknown_members("message", &message.rest);
    }

    fn start_call(&mut self, call: CallDelta<'_>, index: Option<u32>, sink: &mut OutSink<'_>) {
        let Ok(at) = u32::try_from(self.calls.len()) else { return };
        if self.calls.len() > MAX_CALLS {
            return;
        }
        let function = call.function.0.unwrap_or_default();
        let said = [&call.id.0, &function.name.0, &function.arguments.0];
        if said.iter().all(|text| text.is_empty()) {
            return;
        }
        self.calls.push(index);
        let mut delta = ToolCallDelta::new(at).arguments(function.arguments.0);
        delta.id = call.id.non_empty();
        delta.name = Some(tool_name(&function.name.0));
        sink.call(delta);
    }

    /// Returns the call that an event with this index belongs to: the latest, if several have the index or if
    /// there is no index.
    fn find(&self, index: Option<u32>) -> Option<u32> {
        let at = self.calls.iter().rposition(|known| *known == index);
        u32::try_from(at.or(self.calls.len().checked_sub(1))?).ok()
    }
}

/// Begins the answer.
fn begin(id: &str, role: &str, sink: &mut OutSink<'_>) {
    let mut chunk = StreamChunk { role: sink.role(role), ..StreamChunk::default() };
    sink.identify_again("", id, &mut chunk.details);
    sink.emit_some(chunk);
}

/// Ends the answer for the reason `word`; `ERROR` and `TIMEOUT` mean that the model failed.
fn end(word: &str, usage: Option<&RawValue>, error: Option<&RawValue>, sink: &mut OutSink<'_>) {
    sink.set_progress(Progress::Complete);
    let mut chunk = StreamChunk { finished: true, ..StreamChunk::default() };
    chunk.set_finish_reason(finish_reason(word), word);
    chunk.set_usage(&USAGE, usage);
    sink.emit(chunk);
    let error = reported(error);
    if error.is_some() || matches!(word, "ERROR" | "TIMEOUT") {
        sink.fail(in_stream(error, error.unwrap_or(UNFINISHED)));
    }
}
