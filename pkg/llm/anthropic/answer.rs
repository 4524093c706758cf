//! An answer as it is written: its blocks, its usage, its end.

use serde_json::value::RawValue;

use super::{
    blocks::{Blocks, TooMuch},
    items::{self, PROTOCOL},
    members::Members,
    wire::{self, DeltaKind, Event, FACTS, Message},
};
use crate::{
    llm::{ChunkDetails, StreamChunk},
    types::{AgentEvent, MessageRole, ProviderItem, Text},
};

/// Longest usage object that is put together, in bytes; further fields are left out.
const MAX_USAGE_BYTES: usize = 64 << 10;

/// What is known of the answer so far.
#[derive(Debug, Default)]
pub(super) struct Answer {
    blocks: Blocks,
    usage: Members,
    last: Last,
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

impl Answer {
    /// The block that a delta without an index belongs to.
    pub(super) fn last(&self) -> Option<u32> {
        self.blocks.last()
    }

    /// The index of a block that comes without one.
    pub(super) fn next(&self) -> u32 {
        self.blocks.next()
    }

    /// The message begins.
    pub(super) fn begin(&mut self, message: &str, emit: &mut dyn FnMut(StreamChunk)) {
        let message: Message<'_> = serde_json::from_str(message).unwrap_or_default();
        let present = |text: Text| Some(text).filter(|text| !text.is_empty());
        let role = (message.role.0 == "assistant").then_some(MessageRole::Assistant);
        let mut chunk = StreamChunk { role, ..StreamChunk::default() };
        let mut details = ChunkDetails {
            model: present(message.model.0),
            response_id: present(message.id.0),
            ..ChunkDetails::default()
        };
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

    /// A block begins.
    pub(super) fn block(
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

    /// A block goes on.
    pub(super) fn delta(
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
                if let Some(item) = citation {
                    self.item(item, emit);
                }
            }
            DeltaKind::Other => {
                let event = Members::read(data);
                let raw = event.get("delta").unwrap_or_default();
                let name = Members::read(raw).text("type");
                if let Some(item) = items::other(&name, raw).filter(|_| !name.is_empty()) {
                    self.item(item, emit);
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
                self.item(items::signature(&signature), emit);
            }
            Last::Call => self.item(items::signature(&signature), emit),
            Last::Thinking(_) | Last::Other => {
                emit(StreamChunk::signature(PROTOCOL, signature));
            }
        }
    }

    fn item(&mut self, item: ProviderItem, emit: &mut dyn FnMut(StreamChunk)) {
        self.last = Last::Other;
        emit(StreamChunk::events(vec![AgentEvent::ProviderItem(item)]));
    }

    /// A block ends.
    pub(super) fn stop(&mut self, index: u32, emit: &mut dyn FnMut(StreamChunk)) {
        if let Some(chunk) = self.blocks.stop(index) {
            let is_call = !chunk.tool_calls.is_empty();
            self.last = if is_call { Last::Call } else { Last::Other };
            emit(chunk);
        }
    }

    /// Tells why the message ends, and what else its end says.
    pub(super) fn conclude(
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

    /// Nothing more comes of any block.
    pub(super) fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) {
        self.blocks.finish(emit);
    }
}
