//! The answer so far: its blocks, its usage, its end.

use serde_json::value::RawValue;

use super::{
    blocks::OpenBlocks,
    items,
    wire::{AnthropicDelta, DeltaKind, FACTS},
};
use crate::{
    Progress, StreamChunk,
    decode::{
        EventFault, JsonEntries, JsonMembers, OutSink, UsagePaths, finish_reason, lax_json::list,
        says,
    },
};
use forgeline_types::{AgentEvent, Text};

/// The paths of the counts. The vendor's input count excludes tokens read from and written to its cache.
const USAGE: UsagePaths = UsagePaths {
    input: &["input_tokens+cache_read_input_tokens+cache_creation_input_tokens"],
    output: &["output_tokens"],
    cache_read: &["cache_read_input_tokens"],
    cache_write: &["cache_creation_input_tokens"],
    reasoning: &["output_tokens_details.thinking_tokens"],
};

/// The members of a message that are read, besides [`FACTS`], and those that name its event.
const MESSAGE: [&str; 9] =
    ["type", "id", "role", "model", "content", "stop_reason", "usage", "message", "index"];

/// Maximum size of the merged usage object, in bytes; further fields are dropped.
const MAX_USAGE_BYTES: usize = 64 << 10;

/// The answer so far.
#[derive(Debug, Default)]
pub(super) struct AnthropicAnswer {
    blocks: OpenBlocks,
    usage: JsonMembers,
    last: LastContent,
    /// The message as its start event has it, if it contains any part of the answer.
    start: Option<Box<str>>,
    /// `true` once a block or the stop reason has arrived.
    has_content: bool,
}

/// The kind of the content emitted last, as far as it decides where a signature belongs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LastContent {
    /// Nothing that a signature could wrongly be attached to.
    #[default]
    Other,
    /// Unsigned reasoning of this block.
    Thinking(u32),
    /// A call.
    Call,
}

impl AnthropicAnswer {
    /// Returns the block that a delta without an index belongs to.
    pub(super) fn last_block(&self) -> Option<u32> {
        self.blocks.last()
    }

    /// Returns the index for a block that comes without one.
    pub(super) fn next_block(&self) -> u32 {
        self.blocks.next()
    }

    /// Begins the message.
    pub(super) fn begin(&mut self, message: &str, sink: &mut OutSink<'_>) {
        if self.has_content {
            return sink.splice();
        }
        let raw = message;
        let message = JsonEntries::parse(message);
        let has_fact = |name: &&str| message.get(name).is_some();
        let says = message.get("content").is_some_and(says)
            || message.get("stop_reason").is_some()
            || FACTS.iter().any(has_fact);
        sink.unknown_besides("message", &[&MESSAGE[..], &FACTS[..]].concat(), &message);
        self.start = says.then(|| Box::from(raw));
        let role = sink.role(&message.text("role"));
        let mut chunk = StreamChunk { role, ..StreamChunk::default() };
        sink.identify_again(&message.text("model"), &message.text("id"), &mut chunk.details);
        self.used(message.get("usage"), &mut chunk);
        sink.emit_some(chunk);
    }

    /// Emits the content in the message's start, which a call made by the vendor's code has in
    /// full. Blocks that are streamed as well, from index `streamed` on, are not counted twice.
    pub(super) fn open(
        &mut self,
        streamed: Option<u32>,
        sink: &mut OutSink<'_>,
    ) -> Result<(), EventFault> {
        let Some(raw) = self.start.take() else { return Ok(()) };
        let message = JsonEntries::parse(&raw);
        let blocks = list(message.get("content"));
        if streamed.is_some_and(|index| (index as usize) < blocks.len()) {
            return Ok(());
        }
        self.blocks_of(&blocks, sink)?;
        self.conclude(&message.text("stop_reason"), None, &JsonMembers::parse(&raw), sink);
        Ok(())
    }

    /// Returns `true` while [`open`](Self::open) has something to report.
    pub(super) fn has_start(&self) -> bool {
        self.start.is_some()
    }

    /// Discards the content in the message's start, because it is read as a whole answer.
    pub(super) fn forget_start(&mut self) {
        self.start = None;
    }

    /// Emits whole blocks.
    pub(super) fn blocks_of(
        &mut self,
        blocks: &[&RawValue],
        sink: &mut OutSink<'_>,
    ) -> Result<(), EventFault> {
        for (index, block) in (0..).zip(blocks) {
            self.block(index, block.get(), sink)?;
            self.stop(index, sink);
        }
        Ok(())
    }

    /// Merges `usage` into the usage so far and puts it into `chunk`, if it adds anything.
    fn used(&mut self, usage: Option<&RawValue>, chunk: &mut StreamChunk) {
        let Some(usage) = usage.filter(|usage| usage.get().starts_with('{')) else { return };
        let later = JsonMembers::parse(usage.get());
        if self.usage.bytes() + later.bytes() <= MAX_USAGE_BYTES {
            self.usage.merge(later, |_| false);
        }
        let merged = self.usage.to_json();
        chunk.usage = Some(USAGE.read_usage(merged.as_str()));
        chunk.details.get_or_insert_default().usage_raw = Some(merged);
    }

    /// Begins a block.
    pub(super) fn block(
        &mut self,
        index: u32,
        block: &str,
        sink: &mut OutSink<'_>,
    ) -> Result<(), EventFault> {
        self.has_content = true;
        let members = JsonMembers::parse(block);
        match members.text("type").as_str() {
            "text" => {
                self.blocks.text(index)?;
                sink.unknown_besides(
                    "text",
                    &["type", "text", "citations"],
                    &JsonEntries::parse(block),
                );
                self.text(members.text("text"), sink);
                let citations = members.get("citations").unwrap_or("[]");
                let citations: Vec<&RawValue> = serde_json::from_str(citations).unwrap_or_default();
                let items = citations.into_iter().filter_map(items::citation);
                items.for_each(|item| self.item(Some(item), sink));
            }
            "thinking" => {
                self.blocks.thinking(index)?;
                let known = ["type", "thinking", "signature"];
                sink.unknown_besides("thinking", &known, &JsonEntries::parse(block));
                self.thinking(index, members.text("thinking"), sink);
                self.signature(index, members.text("signature"), sink);
            }
            "tool_use" => {
                sink.call(self.blocks.call(index, &members)?);
                self.last = LastContent::Call;
            }
            _ => self.blocks.keep(index, members)?,
        }
        Ok(())
    }

    /// Continues a block.
    pub(super) fn delta(
        &mut self,
        index: u32,
        delta: &mut AnthropicDelta<'_>,
        data: &str,
        sink: &mut OutSink<'_>,
    ) -> Result<(), EventFault> {
        let kind = delta.kind();
        let content = std::mem::take(&mut delta.content);
        if self.blocks.is_kept(index) && kind != DeltaKind::Arguments {
            let event = JsonMembers::parse(data);
            return self
                .blocks
                .add(index, JsonMembers::parse(event.get("delta").unwrap_or_default()));
        }
        if !delta.rest.is_empty() && kind != DeltaKind::Other {
            sink.unknown_members("delta", &delta.rest);
        }
        self.has_content = true;
        match kind {
            DeltaKind::Text => self.text(content, sink),
            DeltaKind::Thinking => self.thinking(index, content, sink),
            DeltaKind::Signature => self.signature(index, content, sink),
            DeltaKind::Arguments => {
                if let Some(delta) = self.blocks.arguments(index, content)? {
                    sink.may_repeat();
                    sink.call(delta);
                    self.last = LastContent::Call;
                }
            }
            DeltaKind::Citation => self.item(delta.citation.and_then(items::citation), sink),
            DeltaKind::Other => {
                let event = JsonMembers::parse(data);
                let raw = event.get("delta").unwrap_or_default();
                let name = JsonMembers::parse(raw).text("type");
                self.item(items::other(&name, raw).filter(|_| !name.is_empty()), sink);
            }
        }
        Ok(())
    }

    fn text(&mut self, text: Text, sink: &mut OutSink<'_>) {
        if !text.is_empty() {
            self.last = LastContent::Other;
            sink.may_repeat();
            sink.text(text);
        }
    }

    fn thinking(&mut self, index: u32, text: Text, sink: &mut OutSink<'_>) {
        if !text.is_empty() {
            self.last = LastContent::Thinking(index);
            sink.may_repeat();
            sink.thinking(text);
        }
    }

    /// Signs the reasoning directly before. After a call, or after the reasoning of another block, a signature
    /// would be attached to those; there it becomes an item of its own.
    fn signature(&mut self, index: u32, signature: Text, sink: &mut OutSink<'_>) {
        if signature.is_empty() || !self.blocks.sign(index) {
            return;
        }
        match std::mem::take(&mut self.last) {
            LastContent::Thinking(other) if other != index => {
                self.item(Some(items::signature(&signature)), sink);
            }
            LastContent::Call => self.item(Some(items::signature(&signature)), sink),
            LastContent::Thinking(_) | LastContent::Other => sink.signature(signature),
        }
    }

    fn item(&mut self, item: Option<AgentEvent>, sink: &mut OutSink<'_>) {
        if item.is_some() {
            self.last = LastContent::Other;
            sink.events(item);
        }
    }

    /// Ends a block.
    pub(super) fn stop(&mut self, index: u32, sink: &mut OutSink<'_>) {
        if let Some(chunk) = self.blocks.stop(index) {
            let is_call = !chunk.tool_calls.is_empty();
            self.last = if is_call { LastContent::Call } else { LastContent::Other };
            sink.emit(chunk);
        }
    }

    /// Emits the stop reason and the other facts at the end of the message.
    pub(super) fn conclude(
        &mut self,
        stop_reason: &str,
        usage: Option<&RawValue>,
        facts: &JsonMembers,
        sink: &mut OutSink<'_>,
    ) {
        let facts = FACTS.iter().filter_map(|name| items::other(name, facts.get(name)?));
        facts.for_each(|item| self.item(Some(item), sink));
        let mut chunk = StreamChunk::default();
        self.used(usage, &mut chunk);
        chunk.set_finish_reason(finish_reason(stop_reason), stop_reason);
        sink.emit_some(chunk);
    }

    /// Ends all blocks.
    pub(super) fn finish(&mut self, sink: &mut OutSink<'_>) {
        self.blocks.finish().into_iter().for_each(|chunk| sink.emit(chunk));
    }

    /// Ends the message.
    pub(super) fn close(&mut self, sink: &mut OutSink<'_>) {
        self.finish(sink);
        sink.set_progress(Progress::Done);
        sink.emit(StreamChunk { finished: true, ..StreamChunk::default() });
    }
}
