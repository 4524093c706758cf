//! The body of a Chat Completions response becomes chunks.

use std::mem::take;

use super::{
    PROTOCOL,
    calls::Calls,
    content::Content,
    extras::{self, Extras},
    reasoning::Reasoning,
    wire::{Choice, Chunk, Seen},
};
use crate::{
    llm::{
        ContentType, Progress, StreamChunk,
        decode::{
            CallDelta, Entries, EventReader, Fault, Sink, UsagePaths, event_decoder, fill,
            finish_reason, in_stream, reported,
        },
    },
    types::Text,
};

/// The counts, in the words of several vendors.
const USAGE: UsagePaths = UsagePaths {
    input: &["prompt_tokens", "input_tokens"],
    output: &["completion_tokens", "output_tokens"],
    cache_read: &[
        "prompt_tokens_details.cached_tokens",
        "prompt_cache_hit_tokens",
        // Moonshot's, Mistral's.
        "cached_tokens",
        "num_cached_tokens",
    ],
    cache_write: &["prompt_tokens_details.cache_write_tokens"],
    reasoning: &["completion_tokens_details.reasoning_tokens", "reasoning_tokens"],
};

event_decoder! {
    /// A decoder for the body of a Chat Completions response, whatever dialect the server speaks.
    ///
    /// The body is a stream of events, or one JSON object, as a server sends it that does not stream;
    /// anything else is a [`ProviderError::Decode`](crate::llm::ProviderError::Decode) that quotes its
    /// beginning.
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
    OpenAiDecoder, ChunkReader
}

/// Turns the JSON of events into chunks.
#[derive(Debug, Default)]
struct ChunkReader {
    calls: Calls,
    reasoning: Reasoning,
    extras: Extras,
}

impl EventReader for ChunkReader {
    const PROTOCOL: &'static str = PROTOCOL;

    fn event(&mut self, name: &str, data: &str, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut chunk = Chunk::default();
        fill(data, &mut chunk)?;
        self.read(&mut chunk, name == "error", data, sink)
    }

    fn whole(&mut self, text: &str, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut chunk = Chunk::default();
        fill(text, &mut chunk)?;
        let seen = chunk.choices.seen;
        if seen == Seen::Nothing && chunk.error.is_none() && chunk.object.0 != "error" {
            return Err(Fault::data("no choices"));
        }
        self.read(&mut chunk, false, text, sink)?;
        if seen == Seen::First && sink.progress() == Progress::Open && !sink.has_failed() {
            self.finish(sink);
            sink.set_progress(Progress::Complete);
        }
        Ok(())
    }

    fn done(&mut self, sink: &mut Sink<'_>) {
        if sink.progress() == Progress::Open {
            self.finish(sink);
        }
        sink.set_progress(Progress::Done);
    }
}

impl ChunkReader {
    fn read(
        &mut self,
        chunk: &mut Chunk<'_>,
        is_error: bool,
        data: &str,
        sink: &mut Sink<'_>,
    ) -> Result<(), Fault> {
        let is_error =
            is_error || (chunk.object.0 == "error" && chunk.choices.seen == Seen::Nothing);
        let error = match chunk.error {
            None => is_error.then_some(data),
            raw => reported(raw),
        };
        let ends_in_error = chunk.choices.first.finish_reason.0 == "error";
        self.chunk(chunk, sink);
        if ends_in_error {
            sink.fail(in_stream(None, "the server ended the answer with an error"));
        }
        if let Some(raw) = error {
            sink.fail_with(raw);
        }
        if self.calls.is_over_limit() {
            return Err(Fault::Limit("the response has too many calls"));
        }
        Ok(())
    }

    /// Ends an answer that has no reason for its end.
    fn finish(&mut self, sink: &mut Sink<'_>) {
        self.last_chunks().into_iter().for_each(|chunk| sink.emit(chunk));
        sink.emit(StreamChunk { finished: true, ..StreamChunk::default() });
    }

    /// Returns what was held until the end of the answer.
    fn last_chunks(&mut self) -> Vec<StreamChunk> {
        let reasoning = [self.reasoning.end(), self.reasoning.finish()];
        let sources =
            self.extras.finish().into_iter().map(|event| StreamChunk::events(vec![event]));
        reasoning.into_iter().flatten().chain(sources).collect()
    }

    fn chunk(&mut self, chunk: &mut Chunk<'_>, sink: &mut Sink<'_>) {
        let mut out = StreamChunk::default();
        let has_choice = chunk.choices.seen == Seen::First;
        if chunk.choices.seen != Seen::Nothing {
            sink.identify(&chunk.model.0, &chunk.id.0, &mut out.details);
            sink.ignore_choice(chunk.choices.highest_other, &mut out.details);
        }
        let usage = chunk.usage.or_else(|| Entries::of(Some(chunk.x_groq?)).get("usage"));
        let usage = usage.or(chunk.choices.first.usage.filter(|_| has_choice));
        out.set_usage(&USAGE, usage);
        if chunk.citations.is_some() || chunk.search_results.is_some() {
            self.extras.sources(chunk.citations, chunk.search_results);
        }
        if has_choice {
            self.choice(&mut chunk.choices.first, &mut out, sink);
        }
        sink.emit_some(out);
    }

    fn choice(&mut self, choice: &mut Choice<'_>, out: &mut StreamChunk, sink: &mut Sink<'_>) {
        if !choice.delta.present {
            if let Some(message) = choice.message.take() {
                choice.delta = *message;
            } else {
                choice.delta.content.text = take(&mut choice.text.0);
            }
        }
        let delta = &mut choice.delta;
        out.role = sink.role(&delta.role.0);
        let Content { text, before, is_thinking } = &mut delta.content;
        add(out, ContentType::Thinking, take(&mut delta.reasoning.0), sink);
        self.reasoning.saw(delta.member);
        if let Some(raw) = delta.reasoning_details {
            add(out, ContentType::Thinking, self.reasoning.details(raw), sink);
        }
        let goes_on = before.is_empty()
            && text.is_empty()
            && delta.refusal.0.is_empty()
            && delta.tool_calls.is_empty();
        if !goes_on {
            behind(out, self.reasoning.end(), sink);
        }
        for (is_thinking, text) in before.drain(..) {
            add(out, kind(is_thinking), text, sink);
        }
        add(out, kind(*is_thinking), take(text), sink);
        add(out, ContentType::Refusal, take(&mut delta.refusal.0), sink);
        if !delta.tool_calls.is_empty() {
            for call in take(&mut delta.tool_calls).into_members().filter_map(|call| call.0) {
                if self.calls.is_over_limit() {
                    break;
                }
                out.tool_calls.extend(self.calls.delta(call));
            }
        }
        if let Some(function) = take(&mut delta.function_call).0 {
            out.tool_calls.extend(self.calls.delta(CallDelta::legacy(function)));
        }
        if delta.annotations.is_some() || delta.executed_tools.is_some() {
            let mut items =
                delta.executed_tools.map_or_else(Vec::new, |raw| self.extras.executed(raw));
            items.extend(delta.annotations.into_iter().flat_map(extras::annotations));
            for item in items {
                behind(out, Some(StreamChunk::events(vec![item])), sink);
            }
        }
        let word = take(&mut choice.finish_reason.0);
        if !word.is_empty() {
            for chunk in self.last_chunks() {
                behind(out, Some(chunk), sink);
            }
            out.set_finish_reason(finish_reason(&word), &word);
            out.finished = true;
            sink.set_progress(Progress::Complete);
        }
    }
}

/// Emits a chunk behind what `out` has so far.
fn behind(out: &mut StreamChunk, next: Option<StreamChunk>, sink: &mut Sink<'_>) {
    let Some(next) = next else { return };
    flush(out, sink);
    sink.emit(next);
}

/// Emits the content and the calls that `out` has so far.
fn flush(out: &mut StreamChunk, sink: &mut Sink<'_>) {
    if out.has_content() || !out.tool_calls.is_empty() {
        sink.emit(StreamChunk {
            content: take(&mut out.content),
            content_type: out.content_type,
            role: out.role.take(),
            tool_calls: take(&mut out.tool_calls),
            ..StreamChunk::default()
        });
    }
}

fn kind(is_thinking: bool) -> ContentType {
    if is_thinking { ContentType::Thinking } else { ContentType::Message }
}

/// Puts content into `out`; content of another kind that is there already goes first.
fn add(out: &mut StreamChunk, kind: ContentType, text: Text, sink: &mut Sink<'_>) {
    if !text.is_empty() {
        flush(out, sink);
        out.content = text;
        out.content_type = kind;
    }
}
