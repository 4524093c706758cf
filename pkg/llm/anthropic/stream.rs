//! The body of an Anthropic Messages response becomes chunks.

use serde_json::value::RawValue;

use super::{
    blocks::{Blocks, TooMuch},
    items,
    members::Members,
    wire::{self, DeltaKind, Event, FACTS, Message},
};
use crate::{
    llm::{
        ChunkDetails, Progress, ProviderError, StreamChunk,
        event_body::{EventReader, event_decoder},
        sse::SseEvent,
        surrogates::Mended,
        vendor_error::in_stream,
    },
    types::{AgentEvent, MessageRole, ProviderItem, Text},
};

/// Longest usage object that is put together, in bytes; further fields are left out.
const MAX_USAGE_BYTES: usize = 64 << 10;

event_decoder! {
    /// Decodes the body of an Anthropic Messages response, as Anthropic and everybody compatible
    /// send it.
    ///
    /// A stream of events is the rule. A body that starts with `{` is read as a whole answer, as a
    /// server sends it that does not stream; anything else is a [`ProviderError::Decode`] that says
    /// what came.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::{BodyDecoder, anthropic::AnthropicDecoder};
    ///
    /// let body = b"data: {\"type\":\"content_block_delta\",\"index\":0,\
    ///     \"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n\
    ///     data: {\"type\":\"message_stop\"}\n\n";
    /// let mut decoder = AnthropicDecoder::default();
    /// let mut text = String::new();
    /// for bytes in body.chunks(7) {
    ///     decoder.push(bytes, &mut |chunk| text.push_str(&chunk.content))?;
    /// }
    /// decoder.finish(&mut |_| {})?;
    /// assert_eq!(text, "Hi");
    /// # Ok::<(), forgeline::llm::ProviderError>(())
    /// ```
    AnthropicDecoder, MessageReader
}

/// Turns the JSON of events into chunks.
#[derive(Debug, Default)]
struct MessageReader {
    end: End,
    blocks: Blocks,
    usage: Members,
    last: Last,
    error: Option<ProviderError>,
    /// An event that ends in half a character, and where it stands: the next one may have the rest.
    half: Option<(Mended, u64)>,
}

/// Whether the message's end was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    Seen,
}

/// What was passed on last, as far as it decides where a signature belongs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    /// Nothing that a signature could be taken to belong to.
    #[default]
    Other,
    /// Unsigned reasoning of this block.
    Thinking(u32),
    /// A call.
    Call,
}

impl EventReader for MessageReader {
    fn event(
        &mut self,
        event: &SseEvent<'_>,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if self.end == End::Seen || event.data.is_empty() {
            return Ok(());
        }
        let Some((mut half, half_offset)) = self.half.take() else {
            return self.data(event.data, event.event, event.offset, emit);
        };
        let mut next = Mended::new(event.data);
        half.join(&mut next);
        self.data(half.json(), "", half_offset, emit)?;
        self.mended(next, event.event, event.offset, emit)
    }

    /// Reads a body that is one JSON value.
    fn whole(&mut self, text: &str, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ()> {
        let mended = Mended::new(text);
        let text = mended.json();
        let message: Message<'_> = serde_json::from_str(text).map_err(|_| ())?;
        if let Some(error) = message.error {
            self.fail(in_stream(Some(error.get()), text));
            return Ok(());
        }
        let content = message.content.ok_or(())?;
        let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).map_err(|_| ())?;
        self.begin(text, emit);
        for (index, block) in (0..).zip(blocks) {
            self.block(index, block.get(), emit).map_err(|_| ())?;
            self.stop(index, emit);
        }
        self.conclude(&message.stop_reason.0, None, &Members::read(text), emit);
        self.finish(emit);
        Ok(())
    }

    /// The body ended: no other half of a character will come, and no more of any block.
    fn end(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        let half = self.half.take();
        let read = half.map_or(Ok(()), |(half, offset)| self.data(half.json(), "", offset, emit));
        self.blocks.finish(emit);
        read
    }

    fn take_error(&mut self) -> Option<ProviderError> {
        self.error.take()
    }

    fn progress(&self) -> Progress {
        match self.end {
            End::Seen => Progress::Done,
            End::Open if self.error.is_some() => Progress::Failed,
            End::Open => Progress::Open,
        }
    }
}

impl MessageReader {
    /// Reads the data of the event called `name`.
    fn data(
        &mut self,
        data: &str,
        name: &str,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        let mut event = Event::default();
        if let Err(error) = wire::event(data, &mut event) {
            return self.unreadable(data, name, offset, &error, emit);
        }
        self.read(&mut event, data, name, emit).map_err(|TooMuch| ProviderError::Decode {
            offset,
            reason: Text::from("the blocks that are open are too many or too long"),
        })
    }

    /// Data that are no JSON: a router's marker, an error in plain words, or torn characters.
    fn unreadable(
        &mut self,
        data: &str,
        name: &str,
        offset: u64,
        error: &serde_json::Error,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        if name == "error" {
            self.fail(in_stream(None, data));
            return Ok(());
        }
        let event = Mended::new(data);
        if event.json() != data {
            return self.mended(event, name, offset, emit);
        }
        let reason = Text::from(format!("an event's data are no JSON: {error}"));
        Err(ProviderError::Decode { offset, reason })
    }

    /// Reads an event without lone surrogates, once its last character is whole.
    fn mended(
        &mut self,
        event: Mended,
        name: &str,
        offset: u64,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        if event.is_open() {
            self.half = Some((event, offset));
            return Ok(());
        }
        self.data(event.json(), name, offset, emit)
    }

    fn read(
        &mut self,
        event: &mut Event<'_>,
        data: &str,
        name: &str,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), TooMuch> {
        let kind = if event.kind.0.is_empty() { name } else { &*event.kind.0 };
        let index = event.index.0.or_else(|| self.blocks.last()).unwrap_or_default();
        match kind {
            "content_block_delta" => return self.delta(index, event, data, emit),
            "content_block_start" => {
                let index = event.index.0.unwrap_or_else(|| self.blocks.next());
                self.stop(index, emit);
                let block = event.content_block.map_or("{}", RawValue::get);
                return self.block(index, block, emit);
            }
            "content_block_stop" => self.stop(index, emit),
            "message_start" => self.begin(event.message.map_or(data, RawValue::get), emit),
            "message_delta" => {
                let mut facts = Members::read(data);
                let delta = Members::read(facts.get("delta").unwrap_or_default());
                facts.merge(delta);
                self.conclude(&event.delta.stop_reason.0, event.usage, &facts, emit);
            }
            "message_stop" => self.finish(emit),
            _ if kind == "error" || name == "error" || event.error.is_some() => {
                self.fail(in_stream(Some(event.error.map_or(data, RawValue::get)), data));
            }
            // Pings, and what is not known yet.
            _ => {}
        }
        Ok(())
    }

    fn fail(&mut self, error: ProviderError) {
        self.error.get_or_insert(error);
    }

    fn begin(&mut self, message: &str, emit: &mut dyn FnMut(StreamChunk)) {
        let message: Message<'_> = serde_json::from_str(message).unwrap_or_default();
        let present = |text: Text| Some(text).filter(|text| !text.is_empty());
        let mut chunk = StreamChunk::default();
        chunk.role = (message.role.0 == "assistant").then_some(MessageRole::Assistant);
        let mut details = ChunkDetails::default();
        details.model = present(message.model.0);
        details.response_id = present(message.id.0);
        self.used(message.usage, &mut chunk, &mut details);
        chunk.details = Some(Box::new(details));
        emit(chunk);
    }

    /// Puts the usage so far into a chunk, when `usage` has more of it.
    fn used(
        &mut self,
        usage: Option<&RawValue>,
        chunk: &mut StreamChunk,
        details: &mut ChunkDetails,
    ) {
        let Some(usage) = usage.filter(|usage| usage.get().starts_with('{')) else { return };
        let later = Members::read(usage.get());
        if self.usage.bytes() + later.bytes() <= MAX_USAGE_BYTES {
            self.usage.merge(later);
        }
        let merged = self.usage.to_json();
        chunk.usage = Some(wire::usage(merged.as_str()));
        details.usage_raw = Some(merged);
    }

    fn block(
        &mut self,
        index: u32,
        block: &str,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), TooMuch> {
        let members = Members::read(block);
        match members.text("type").as_str() {
            "text" => {
                self.blocks.text(index)?;
                self.text(members.text("text"), emit);
                let citations = members.get("citations").unwrap_or("[]");
                let citations: Vec<&RawValue> = serde_json::from_str(citations).unwrap_or_default();
                let items = citations.iter().filter_map(|raw| items::citation(raw.get()));
                items.for_each(|item| self.item(item, emit));
            }
            "thinking" => {
                self.blocks.thinking(index)?;
                self.thinking(index, members.text("thinking"), emit);
                self.signature(index, members.text("signature"), emit);
            }
            "tool_use" => {
                emit(self.blocks.call(index, &members)?);
                self.last = Last::Call;
            }
            _ => self.blocks.keep(index, members)?,
        }
        Ok(())
    }

    fn delta(
        &mut self,
        index: u32,
        event: &mut Event<'_>,
        data: &str,
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), TooMuch> {
        let kind = event.delta.kind();
        let content = std::mem::take(&mut event.delta.content);
        if self.blocks.is_kept(index) && kind != DeltaKind::Arguments {
            let event = Members::read(data);
            return self.blocks.add(index, Members::read(event.get("delta").unwrap_or_default()));
        }
        match kind {
            DeltaKind::Text => self.text(content, emit),
            DeltaKind::Thinking => self.thinking(index, content, emit),
            DeltaKind::Signature => self.signature(index, content, emit),
            DeltaKind::Arguments => {
                if let Some(delta) = self.blocks.arguments(index, content)? {
                    emit(StreamChunk::calls(vec![delta]));
                    self.last = Last::Call;
                }
            }
            DeltaKind::Citation => {
                let citation = event.delta.citation.and_then(|raw| items::citation(raw.get()));
                citation.into_iter().for_each(|item| self.item(item, emit));
            }
            DeltaKind::Other => {
                let event = Members::read(data);
                let raw = event.get("delta").unwrap_or_default();
                let name = Members::read(raw).text("type");
                if !name.is_empty() {
                    items::other(&name, raw).into_iter().for_each(|item| self.item(item, emit));
                }
            }
        }
        Ok(())
    }

    fn text(&mut self, text: Text, emit: &mut dyn FnMut(StreamChunk)) {
        if !text.is_empty() {
            self.last = Last::Other;
            emit(StreamChunk::message(text));
        }
    }

    fn thinking(&mut self, index: u32, text: Text, emit: &mut dyn FnMut(StreamChunk)) {
        if !text.is_empty() {
            self.last = Last::Thinking(index);
            emit(StreamChunk::thinking(text));
        }
    }

    /// Signs the reasoning right before. Behind a call, or the reasoning of another block, a signature
    /// would be taken for theirs: there it stands as an item of its own.
    fn signature(&mut self, index: u32, signature: Text, emit: &mut dyn FnMut(StreamChunk)) {
        if signature.is_empty() || !self.blocks.sign(index) {
            return;
        }
        match std::mem::take(&mut self.last) {
            Last::Thinking(other) if other != index => {
                self.item(items::signature(&signature), emit)
            }
            Last::Call => self.item(items::signature(&signature), emit),
            Last::Thinking(_) | Last::Other => emit(StreamChunk::signature(signature)),
        }
    }

    fn item(&mut self, item: ProviderItem, emit: &mut dyn FnMut(StreamChunk)) {
        self.last = Last::Other;
        emit(StreamChunk::events(vec![AgentEvent::ProviderItem(item)]));
    }

    fn stop(&mut self, index: u32, emit: &mut dyn FnMut(StreamChunk)) {
        if let Some(chunk) = self.blocks.stop(index) {
            let is_call = !chunk.tool_calls.is_empty();
            self.last = if is_call { Last::Call } else { Last::Other };
            emit(chunk);
        }
    }

    /// Tells why the message ends, and what else its end says.
    fn conclude(
        &mut self,
        stop_reason: &str,
        usage: Option<&RawValue>,
        facts: &Members,
        emit: &mut dyn FnMut(StreamChunk),
    ) {
        let facts = FACTS.iter().filter_map(|name| items::other(name, facts.get(name)?));
        facts.for_each(|item| self.item(item, emit));
        let (mut chunk, mut details) = (StreamChunk::default(), ChunkDetails::default());
        self.used(usage, &mut chunk, &mut details);
        if !stop_reason.is_empty() {
            chunk.finish_reason = Some(wire::finish_reason(stop_reason));
            details.finish_reason_raw = Some(Text::from(stop_reason));
        }
        if chunk.usage.is_some() || chunk.finish_reason.is_some() {
            chunk.details = Some(Box::new(details));
            emit(chunk);
        }
    }

    fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) {
        self.blocks.finish(emit);
        self.end = End::Seen;
        emit(StreamChunk { finished: true, ..StreamChunk::default() });
    }
}
