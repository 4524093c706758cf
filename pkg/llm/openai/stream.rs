//! The body of a Chat Completions response becomes chunks.

use std::mem::take;

use serde_json::value::RawValue;

use super::{
    calls::Calls,
    content::Content,
    extras::{self, Extras},
    facts,
    reasoning::Reasoning,
    wire::{self, CallDelta, Choice, Chunk, Seen},
};
use crate::{
    llm::{
        ChunkDetails, ContentType, Progress, ProviderError, StreamChunk,
        event_body::{EventReader, event_decoder},
        sse::SseEvent,
        surrogates::Mended,
        vendor_error::in_stream,
    },
    types::{AgentEvent, Json, MessageRole, Text},
};

event_decoder! {
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
    OpenAiDecoder, ChunkReader
}

/// Turns the JSON of events into chunks.
#[derive(Debug)]
struct ChunkReader {
    progress: Progress,
    calls: Calls,
    reasoning: Reasoning,
    extras: Extras,
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
            calls: Calls::default(),
            reasoning: Reasoning::default(),
            extras: Extras::default(),
            role: None,
            model: Text::new(),
            response_id: Text::new(),
            highest_other: 0,
            error: None,
            half: None,
        }
    }
}

impl EventReader for ChunkReader {
    fn event(
        &mut self,
        event: &SseEvent<'_>,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        self.data(event.data, event.event == "error", event.offset, emit)
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
        self.data(text, false, 0, emit).map_err(|_| ())?;
        if has_message && self.progress == Progress::Open && self.error.is_none() {
            self.progress = Progress::Complete;
            self.finish(emit);
            emit(StreamChunk { finished: true, ..StreamChunk::default() });
        }
        Ok(())
    }

    /// The body ended: no other half of a character will come.
    fn end(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        self.half
            .take()
            .map_or(Ok(()), |(half, offset)| self.read(half.json(), false, offset, emit))
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

impl ChunkReader {
    fn data(
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

    fn read(
        &mut self,
        data: &str,
        is_error: bool,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            if self.progress == Progress::Open {
                self.finish(emit);
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
        let ends_in_error = chunk.choices.first.finish_reason.0 == "error";
        self.chunk(&mut chunk, emit);
        if ends_in_error {
            self.fail(in_stream(None, "the server ended the answer with an error"));
        }
        if let Some(raw) = error {
            self.fail(in_stream(Some(raw), raw));
        }
        if self.calls.is_over_limit() {
            let reason = Text::from("the response has too many calls");
            return Err(ProviderError::Decode { offset, reason });
        }
        Ok(())
    }

    /// Emits what the end of an answer lets go.
    fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) {
        for chunk in self.last_chunks() {
            emit(chunk);
        }
    }

    fn last_chunks(&mut self) -> Vec<StreamChunk> {
        let mut chunks: Vec<_> =
            [self.reasoning.end(), self.reasoning.finish()].into_iter().flatten().collect();
        chunks.extend(self.extras.finish().into_iter().map(told));
        chunks
    }

    fn fail(&mut self, error: ProviderError) {
        // What the vendor says of it counts more than that it failed.
        if self.error.as_ref().is_none_or(|known| known.raw().is_none() && error.raw().is_some()) {
            self.error = Some(error);
        }
    }

    fn chunk(&mut self, chunk: &mut Chunk<'_>, emit: &mut dyn FnMut(StreamChunk)) {
        let mut out = StreamChunk::default();
        let mut details = self.identity(chunk);
        let usage = chunk.usage.or_else(|| chunk.x_groq.and_then(facts::groq_usage));
        let mut set_usage = |raw: &RawValue, details: &mut Option<Box<ChunkDetails>>| {
            out.usage = Some(facts::usage(raw));
            details.get_or_insert_default().usage_raw = Json::parse(raw.get()).ok();
        };
        if let Some(raw) = usage {
            set_usage(raw, &mut details);
        }
        if chunk.citations.is_some() || chunk.search_results.is_some() {
            self.extras.sources(chunk.citations, chunk.search_results);
        }
        if chunk.choices.seen == Seen::First {
            let choice = &mut chunk.choices.first;
            if let (None, Some(raw)) = (usage, choice.usage) {
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
        choice: &mut Choice<'_>,
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
        self.reasoning.saw(delta.member);
        if let Some(raw) = delta.reasoning_details {
            add(out, ContentType::Thinking, self.reasoning.details(raw), emit);
        }
        let goes_on = before.is_empty()
            && text.is_empty()
            && delta.refusal.0.is_empty()
            && delta.tool_calls.is_empty();
        if !goes_on {
            behind(out, self.reasoning.end(), emit);
        }
        for (is_thinking, text) in before {
            add(out, kind(is_thinking), text, emit);
        }
        add(out, kind(is_thinking), text, emit);
        add(out, ContentType::Refusal, take(&mut delta.refusal.0), emit);
        for call in take(&mut delta.tool_calls).into_members().filter_map(|call| call.0) {
            if self.calls.is_over_limit() {
                break;
            }
            out.tool_calls.extend(self.calls.delta(call));
        }
        if let Some(function) = take(&mut delta.function_call).0 {
            out.tool_calls.extend(self.calls.delta(CallDelta::legacy(function)));
        }
        if delta.annotations.is_some() || delta.executed_tools.is_some() {
            let mut items =
                delta.executed_tools.map_or_else(Vec::new, |raw| self.extras.executed(raw));
            items.extend(delta.annotations.into_iter().flat_map(extras::annotations));
            for item in items {
                behind(out, Some(told(item)), emit);
            }
        }
        let word = take(&mut choice.finish_reason.0);
        if !word.is_empty() {
            for chunk in self.last_chunks() {
                behind(out, Some(chunk), emit);
            }
            out.finish_reason = Some(facts::finish_reason(&word));
            out.finished = true;
            details.get_or_insert_default().finish_reason_raw = Some(word);
            self.progress = Progress::Complete;
        }
    }
}

fn told(event: AgentEvent) -> StreamChunk {
    StreamChunk::events(vec![event])
}

/// Emits a chunk behind what `out` has so far.
fn behind(out: &mut StreamChunk, next: Option<StreamChunk>, emit: &mut dyn FnMut(StreamChunk)) {
    let Some(next) = next else { return };
    if out.has_content() || !out.tool_calls.is_empty() {
        emit(StreamChunk {
            content: take(&mut out.content),
            content_type: out.content_type,
            role: out.role.take(),
            tool_calls: take(&mut out.tool_calls),
            ..StreamChunk::default()
        });
    }
    emit(next);
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
