//! The decoder of Chat Completions responses.

use std::{
    collections::BTreeMap,
    mem::{swap, take},
};

use super::{
    PROTOCOL,
    calls::OpenAiCalls,
    content::{ContentPiece, pieces},
    extras::{self, AnswerExtras},
    reasoning::{BLOCKS, ReasoningMembers},
    wire::{ChoiceList, OpenAiChoice, OpenAiChunk, OpenAiDelta},
};
use crate::{
    ContentType, Progress, StreamChunk,
    decode::{
        AnswerChoices, CallDelta, EventFault, EventReader, JsonEntries, OutSink, UsagePaths,
        event_decoder, fill, finish_reason, in_stream, lax_json::list, reported, vendor_error,
    },
};
use forgeline_types::{AgentEvent, CustomEvent, Json, Text};

/// The name of the [`Custom`](AgentEvent::Custom) event that reports the progress of llama.cpp's server in reading the
/// prompt, in its own format: `{"total": …, "cache": …, "processed": …, "time_ms": …}`.
pub const PROMPT_PROGRESS: &str = "prompt_progress";

/// The paths of the counts, as named by several vendors.
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
    /// The body is a stream of events, or one JSON object from a server that does not stream;
    /// anything else is a [`ProviderError::Decode`](crate::ProviderError::Decode) that quotes its
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

impl OpenAiDecoder {
    /// Reads all choices as parts of one answer, in the order in which they arrive: the request asked for one, and some
    /// servers send its text and its calls as separate choices. By default, the first choice alone is the answer: a
    /// body does not say what was asked for, and of several answers that were, joined calls would all run.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::{BodyDecoder, openai::OpenAiDecoder};
    ///
    /// let body = br#"{"choices":[{"index":0,"message":{"content":"Hi "},"finish_reason":"stop"},
    ///     {"index":1,"message":{"content":"there."},"finish_reason":"stop"}]}"#;
    /// let mut decoder = OpenAiDecoder::default().merge_choices(true);
    /// let mut text = String::new();
    /// decoder.push(body, &mut |chunk| text.push_str(&chunk.content))?;
    /// decoder.finish(&mut |chunk| text.push_str(&chunk.content))?;
    /// assert_eq!(text, "Hi there.");
    /// # Ok::<(), forgeline::llm::ProviderError>(())
    /// ```
    #[must_use]
    pub fn merge_choices(mut self, merge: bool) -> Self {
        self.0.reader_mut().choices.merges = merge;
        self
    }
}

/// Decodes the JSON of events into chunks.
#[derive(Debug, Default)]
struct ChunkReader {
    choices: AnswerChoices,
    calls: OpenAiCalls,
    reasoning: ReasoningMembers,
    extras: AnswerExtras,
    said_by: SaidBy,
    /// The same of the other choices that are part of the answer, by their indexes.
    said_by_others: BTreeMap<u32, SaidBy>,
}

/// The member of a choice that contains the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SaidBy {
    /// None so far.
    #[default]
    Nobody,
    /// The deltas. A `message` next to them repeats their content.
    Delta,
    /// `message`, next to empty deltas; it may grow, and had this number of bytes.
    Message(usize),
}

impl EventReader for ChunkReader {
    const PROTOCOL: &'static str = PROTOCOL;
    const PADDING: &'static [&'static str] = &["created", "id", "obfuscation", "p"];

    fn event(&mut self, name: &str, data: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let mut chunk = OpenAiChunk::default();
        fill(data, &mut chunk)?;
        self.read_chunk(&mut chunk, name == "error", data, sink)
    }

    fn whole(&mut self, text: &str, sink: &mut OutSink<'_>) -> Result<(), EventFault> {
        let mut chunk = OpenAiChunk::default();
        fill(text, &mut chunk)?;
        let seen = chunk.choices.seen;
        let is_error = chunk.object.0 == "error" || vendor_error::is_error(text);
        if seen == ChoiceList::Nothing && chunk.error.is_none() && !is_error {
            return Err(EventFault::data("no choices"));
        }
        let is_read = self.is_read(&chunk);
        self.read_chunk(&mut chunk, false, text, sink)?;
        if is_read && sink.progress() == Progress::Open && !sink.has_failed() {
            self.finish(sink);
            sink.set_progress(Progress::Complete);
        }
        Ok(())
    }

    fn done(&mut self, sink: &mut OutSink<'_>) {
        if sink.progress() == Progress::Open {
            self.finish(sink);
        }
        sink.set_progress(Progress::Done);
    }
}

impl ChunkReader {
    fn read_chunk(
        &mut self,
        chunk: &mut OpenAiChunk<'_>,
        is_error: bool,
        data: &str,
        sink: &mut OutSink<'_>,
    ) -> Result<(), EventFault> {
        let is_error =
            is_error || (chunk.object.0 == "error" && chunk.choices.seen == ChoiceList::Nothing);
        let is_error = is_error
            || (chunk.choices.seen == ChoiceList::Nothing && vendor_error::is_error(data))
            || chunk.base_resp.is_some_and(vendor_error::is_failure);
        let error = match chunk.error {
            None => is_error.then_some(data),
            raw => reported(raw),
        };
        let mut ends = chunk.choices.others.iter().filter(|(at, _)| self.choices.reads(*at));
        let ends_in_error = chunk.choices.first.finish_reason.0 == "error"
            || ends.any(|(_, choice)| choice.finish_reason.0 == "error");
        if !chunk.rest.is_empty() && error.is_none() {
            sink.unknown_members("chunk", &chunk.rest);
        }
        self.chunk(chunk, sink);
        if ends_in_error {
            sink.fail(in_stream(None, "the server ended the answer with an error"));
        }
        if let Some(raw) = error {
            sink.fail_with(raw);
        }
        if self.calls.is_over_limit() {
            return Err(EventFault::Limit("the response has too many calls"));
        }
        Ok(())
    }

    /// Returns `true` if the chunk has a choice that is part of the answer.
    fn is_read(&self, chunk: &OpenAiChunk<'_>) -> bool {
        let mut others = chunk.choices.others.iter();
        chunk.choices.seen == ChoiceList::First || others.any(|(at, _)| self.choices.reads(*at))
    }

    /// Ends an answer without a finish reason.
    fn finish(&mut self, sink: &mut OutSink<'_>) {
        self.last_chunks(false).into_iter().for_each(|chunk| sink.emit(chunk));
        sink.emit(StreamChunk { finished: true, ..StreamChunk::default() });
    }

    /// Returns what was held back until the end of the answer; `cut` if the answer may be truncated.
    fn last_chunks(&mut self, cut: bool) -> Vec<StreamChunk> {
        let mut chunks = Vec::from_iter(self.reasoning.end());
        let calls = if cut { Vec::new() } else { self.calls.finish() };
        if !calls.is_empty() {
            chunks.push(StreamChunk::calls(calls));
        }
        chunks.extend(self.reasoning.finish());
        let extras = self.extras.finish().into_iter();
        chunks.extend(extras.map(|event| StreamChunk::events(vec![event])));
        chunks
    }

    fn chunk(&mut self, chunk: &mut OpenAiChunk<'_>, sink: &mut OutSink<'_>) {
        let mut out = StreamChunk::default();
        let has_choice = chunk.choices.seen == ChoiceList::First;
        if chunk.choices.seen != ChoiceList::Nothing {
            sink.identify(&chunk.model.0, &chunk.id.0, &mut out.details);
        }
        let mut others = take(&mut chunk.choices.others);
        if !others.is_empty() {
            let ignored = others.iter().map(|(at, _)| *at).filter(|at| !self.choices.reads(*at));
            sink.ignore_choice(ignored.max().unwrap_or_default(), &mut out.details);
            others.retain(|(at, _)| self.choices.reads(*at));
        }
        let usage = chunk.usage.or_else(|| JsonEntries::from_raw(Some(chunk.x_groq?)).get("usage"));
        let usage = usage.or(chunk.choices.first.usage.filter(|_| has_choice));
        let usage = usage.or_else(|| others.iter().find_map(|(_, choice)| choice.usage));
        out.set_usage(&USAGE, usage);
        if chunk.citations.is_some() || chunk.search_results.is_some() {
            self.extras.sources(chunk.citations, chunk.search_results);
        }
        if let Some(data) = chunk.prompt_progress.and_then(|raw| Json::parse(raw.get()).ok()) {
            let name = Text::from(PROMPT_PROGRESS);
            sink.events([AgentEvent::Custom(CustomEvent::new(name, data.to_value()))]);
        }
        let is_plain = !chunk.says_more() && others.is_empty();
        if has_choice {
            self.choice(&mut chunk.choices.first, 0, &mut out, sink);
        }
        for (at, mut choice) in others {
            self.other_choice(at, &mut choice, &mut out, sink);
        }
        if is_plain && out.tool_calls.iter().all(|delta| self.calls.passes(delta.index)) {
            sink.may_repeat();
        }
        sink.emit_some(out);
    }

    /// Reads a choice besides the first that is part of the answer.
    fn other_choice(
        &mut self,
        at: u32,
        choice: &mut OpenAiChoice<'_>,
        out: &mut StreamChunk,
        sink: &mut OutSink<'_>,
    ) {
        let mut said_by = self.said_by_others.remove(&at).unwrap_or_default();
        swap(&mut self.said_by, &mut said_by);
        self.choice(choice, at, out, sink);
        swap(&mut self.said_by, &mut said_by);
        self.said_by_others.insert(at, said_by);
    }

    fn choice(
        &mut self,
        choice: &mut OpenAiChoice<'_>,
        at: u32,
        out: &mut StreamChunk,
        sink: &mut OutSink<'_>,
    ) {
        let has_message = choice.message.is_some();
        self.choose(choice);
        if !choice.delta.present && !has_message {
            choice.delta.content.text = take(&mut choice.text.0);
        }
        let delta = &mut choice.delta;
        out.role = sink.role(&delta.role.0);
        add(out, ContentType::Thinking, take(&mut delta.reasoning.0), sink);
        self.reasoning.saw(delta.member);
        if let Some(raw) = delta.reasoning_details {
            add(out, ContentType::Thinking, self.reasoning.details(raw), sink);
        }
        if !delta.rest.is_empty() {
            self.reasoning_of(delta, out, sink);
        }
        let goes_on =
            delta.content.is_empty() && delta.refusal.0.is_empty() && delta.tool_calls.is_empty();
        if !goes_on {
            behind(out, self.reasoning.end(), sink);
        }
        if !delta.content.parts.is_empty() {
            self.parts(delta, out, sink);
        }
        add(out, ContentType::Message, take(&mut delta.content.text), sink);
        add(out, ContentType::Refusal, take(&mut delta.refusal.0), sink);
        if !delta.tool_calls.is_empty() {
            for call in take(&mut delta.tool_calls).into_members().filter_map(|call| call.0) {
                if self.calls.is_over_limit() {
                    break;
                }
                if !call.rest.is_empty() {
                    flush(out, sink);
                    sink.unknown_members("tool_call", &call.rest);
                }
                if let Some(function) = call.function.0.as_ref().filter(|it| !it.rest.is_empty()) {
                    sink.unknown_members("tool_call.function", &function.rest);
                }
                if !call.is_foreign() {
                    out.tool_calls.extend(self.calls.delta(of_choice(call, at)));
                }
            }
        }
        if let Some(function) = take(&mut delta.function_call).0 {
            let call = of_choice(CallDelta::legacy(function), at);
            out.tool_calls.extend(self.calls.delta(call));
        }
        if delta.annotations.is_some() || delta.executed_tools.is_some() {
            let mut items =
                delta.executed_tools.map_or_else(Vec::new, |raw| self.extras.executed(raw));
            items.extend(delta.annotations.into_iter().flat_map(extras::annotations));
            for item in items {
                behind(out, Some(StreamChunk::events(vec![item])), sink);
            }
        }
        if !delta.rest.is_empty() {
            self.rest(delta, out, sink);
        }
        if !choice.rest.is_empty() || choice.logprobs.is_some() {
            flush(out, sink);
            sink.unknown_members("choice", &choice.rest);
            choice
                .logprobs
                .into_iter()
                .for_each(|raw| sink.unknown_member("choice", "logprobs", raw));
        }
        let word = take(&mut choice.finish_reason.0);
        if !word.is_empty() {
            let reason = finish_reason(&word);
            for chunk in self.last_chunks(reason.truncates()) {
                behind(out, Some(chunk), sink);
            }
            if self.choices.end(&reason) {
                out.set_finish_reason(reason, &word);
            }
            out.finished = true;
            sink.set_progress(Progress::Complete);
        }
    }
}

impl ChunkReader {
    /// Moves the content of the choice into its delta: `message` counts if the deltas are empty.
    fn choose(&mut self, choice: &mut OpenAiChoice<'_>) {
        if choice.delta.says_something() {
            self.said_by = SaidBy::Delta;
        }
        let Some(mut message) = choice.message.take() else { return };
        if !choice.delta.present && self.said_by == SaidBy::Nobody {
            choice.delta = *message;
            return;
        }
        if self.said_by == SaidBy::Delta || !message.says_something() {
            return;
        }
        let length = message.content.text.len();
        if let SaidBy::Message(before) = self.said_by {
            let more = message.content.text.get(before..).map(Text::from);
            *message = OpenAiDelta::default();
            message.content.text = more.unwrap_or_default();
        }
        self.said_by = SaidBy::Message(length);
        choice.delta = *message;
    }

    /// Emits the parts of a content that is a list.
    fn parts(
        &mut self,
        delta: &mut OpenAiDelta<'_>,
        out: &mut StreamChunk,
        sink: &mut OutSink<'_>,
    ) {
        for piece in take(&mut delta.content.parts).into_iter().flat_map(|raw| pieces(raw, false)) {
            match piece {
                ContentPiece::Words(kind, text) => add(out, kind, text, sink),
                ContentPiece::Summary(entries) => {
                    add(out, ContentType::Thinking, self.reasoning.summary(entries), sink);
                }
                ContentPiece::Item(item) => {
                    behind(out, Some(StreamChunk::events(vec![item])), sink);
                }
            }
        }
    }

    /// Reads the vendor-specific members with reasoning.
    fn reasoning_of(
        &mut self,
        delta: &OpenAiDelta<'_>,
        out: &mut StreamChunk,
        sink: &mut OutSink<'_>,
    ) {
        let blocks = [BLOCKS, "provider_specific_fields.thinking_blocks"];
        if let Some(raw) = blocks.into_iter().find_map(|path| delta.rest.get(path)) {
            add(out, ContentType::Thinking, self.reasoning.blocks(raw), sink);
        }
    }

    /// Reads the members of a delta that only some vendors send.
    fn rest(&mut self, delta: &OpenAiDelta<'_>, out: &mut StreamChunk, sink: &mut OutSink<'_>) {
        for (name, raw) in delta.rest.present_members() {
            let within = JsonEntries::from_raw(Some(raw));
            match name {
                // These are read above, or are of use only for training.
                BLOCKS | "token_id" | "token_ids" => {}
                "reasoning_opaque" => self.reasoning.member(name, raw),
                "extra_content" if within.get("google.thought_signature").is_some() => {
                    self.reasoning.member(name, raw);
                }
                "provider_specific_fields" if within.get("thought_signatures").is_some() => {
                    self.reasoning.member(name, raw);
                }
                "provider_specific_fields"
                    if within.present_members().all(|(name, _)| name == BLOCKS) => {}
                "audio" => {
                    let (transcript, ended) = self.extras.audio(raw);
                    behind(out, ended.map(|item| StreamChunk::events(vec![item])), sink);
                    add(out, ContentType::Message, transcript, sink);
                }
                "images" => {
                    let pictures = list(Some(raw)).into_iter().filter_map(extras::picture);
                    for item in pictures.collect::<Vec<_>>() {
                        behind(out, Some(StreamChunk::events(vec![item])), sink);
                    }
                }
                _ => {
                    flush(out, sink);
                    sink.unknown_member("delta", name, raw);
                }
            }
        }
    }
}

/// Returns a call with an index that no call of another choice has: each choice counts its calls from 0.
fn of_choice(mut call: CallDelta<'_>, at: u32) -> CallDelta<'_> {
    let first = at.saturating_mul(CALLS_OF_CHOICE);
    call.index.0 = call.index.0.map(|index| first.saturating_add(index));
    call
}

/// The distance between the indexes of two choices' first calls.
const CALLS_OF_CHOICE: u32 = 1 << 16;

/// Emits a chunk after the contents of `out` so far.
fn behind(out: &mut StreamChunk, next: Option<StreamChunk>, sink: &mut OutSink<'_>) {
    let Some(next) = next else { return };
    flush(out, sink);
    sink.emit(next);
}

/// Emits the content and the calls in `out` so far.
fn flush(out: &mut StreamChunk, sink: &mut OutSink<'_>) {
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

/// Puts content into `out`; earlier content of another kind is emitted first.
fn add(out: &mut StreamChunk, kind: ContentType, text: Text, sink: &mut OutSink<'_>) {
    if !text.is_empty() {
        flush(out, sink);
        out.content = text;
        out.content_type = kind;
    }
}
