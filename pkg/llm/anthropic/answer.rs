//! The answer so far: its blocks, its usage, its end.

use serde_json::value::RawValue;

use super::{
    blocks::Blocks,
    items::{self, PROTOCOL},
    wire::{self, Delta, DeltaKind, FACTS, Message},
};
use crate::{
    llm::{
        StreamChunk,
        decode::{Emit, Fault, Members, StreamState, emit_event, finish_reason},
    },
    types::{AgentEvent, Text},
};

/// Longest usage object that is put together, in bytes; further fields are left out.
const MAX_USAGE_BYTES: usize = 64 << 10;

/// The answer so far.
#[derive(Debug, Default)]
pub(super) struct Answer {
    blocks: Blocks,
    usage: Members,
    last: Last,
}

/// The content that was emitted last, as far as it decides where a signature belongs.
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
    /// Returns the block that a delta without an index belongs to.
    pub(super) fn last_block(&self) -> Option<u32> {
        self.blocks.last()
    }

    /// Returns the index of a block that comes without one.
    pub(super) fn next_block(&self) -> u32 {
        self.blocks.next()
    }

    /// Begins the message.
    pub(super) fn begin(&mut self, message: &str, state: &mut StreamState, emit: Emit<'_>) {
        let message: Message<'_> = serde_json::from_str(message).unwrap_or_default();
        let role = state.role(&message.role.0);
        let mut chunk = StreamChunk { role, ..StreamChunk::default() };
        state.identify_again(&message.model.0, &message.id.0, &mut chunk.details);
        self.used(message.usage, &mut chunk);
        if !chunk.is_empty() {
            emit(chunk);
        }
    }

    /// Puts the usage so far into a chunk, when `usage` has more of it.
    fn used(&mut self, usage: Option<&RawValue>, chunk: &mut StreamChunk) {
        let Some(usage) = usage.filter(|usage| usage.get().starts_with('{')) else { return };
        let later = Members::read(usage.get());
        if self.usage.bytes() + later.bytes() <= MAX_USAGE_BYTES {
            self.usage.merge(later, |_| false);
        }
        let merged = self.usage.to_json();
        chunk.usage = Some(wire::usage(merged.as_str()));
        chunk.details.get_or_insert_default().usage_raw = Some(merged);
    }

    /// Begins a block.
    pub(super) fn block(&mut self, index: u32, block: &str, emit: Emit<'_>) -> Result<(), Fault> {
        let members = Members::read(block);
        match members.text("type").as_str() {
            "text" => {
                self.blocks.text(index)?;
                self.text(members.text("text"), emit);
                let citations = members.get("citations").unwrap_or("[]");
                let citations: Vec<&RawValue> = serde_json::from_str(citations).unwrap_or_default();
                let items = citations.into_iter().filter_map(items::citation);
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

    /// Continues a block.
    pub(super) fn delta(
        &mut self,
        index: u32,
        delta: &mut Delta<'_>,
        data: &str,
        emit: Emit<'_>,
    ) -> Result<(), Fault> {
        let kind = delta.kind();
        let content = std::mem::take(&mut delta.content);
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
                let item = delta.citation.and_then(items::citation);
                if let Some(item) = item {
                    self.item(item, emit);
                }
            }
            DeltaKind::Other => {
                let event = Members::read(data);
                let raw = event.get("delta").unwrap_or_default();
                let name = Members::read(raw).text("type");
                let item = items::other(&name, raw).filter(|_| !name.is_empty());
                if let Some(item) = item {
                    self.item(item, emit);
                }
            }
        }
        Ok(())
    }

    fn text(&mut self, text: Text, emit: Emit<'_>) {
        if !text.is_empty() {
            self.last = Last::Other;
            emit(StreamChunk::message(text));
        }
    }

    fn thinking(&mut self, index: u32, text: Text, emit: Emit<'_>) {
        if !text.is_empty() {
            self.last = Last::Thinking(index);
            emit(StreamChunk::thinking(text));
        }
    }

    /// Signs the reasoning right before. Behind a call, or the reasoning of another block, a signature
    /// would be taken for theirs: there it stands as an item of its own.
    fn signature(&mut self, index: u32, signature: Text, emit: Emit<'_>) {
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

    fn item(&mut self, item: AgentEvent, emit: Emit<'_>) {
        self.last = Last::Other;
        emit_event(item, emit);
    }

    /// Ends a block.
    pub(super) fn stop(&mut self, index: u32, emit: Emit<'_>) {
        if let Some(chunk) = self.blocks.stop(index) {
            let is_call = !chunk.tool_calls.is_empty();
            self.last = if is_call { Last::Call } else { Last::Other };
            emit(chunk);
        }
    }

    /// Reports why the message ends, and what else its end has.
    pub(super) fn conclude(
        &mut self,
        stop_reason: &str,
        usage: Option<&RawValue>,
        facts: &Members,
        emit: Emit<'_>,
    ) {
        let facts = FACTS.iter().filter_map(|name| items::other(name, facts.get(name)?));
        facts.for_each(|item| self.item(item, emit));
        let mut chunk = StreamChunk::default();
        self.used(usage, &mut chunk);
        chunk.set_finish_reason(finish_reason(stop_reason), stop_reason);
        if !chunk.is_empty() {
            emit(chunk);
        }
    }

    /// Ends all blocks.
    pub(super) fn finish(&mut self, emit: Emit<'_>) {
        self.blocks.finish(emit);
    }
}
