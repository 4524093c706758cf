//! The blocks of an answer that are being written, by their index.

use super::{items, members::Members};
use crate::{
    llm::{StreamChunk, ToolCallDelta, tolerant::plain, tool_names},
    types::{AgentEvent, Json, Text},
};

/// Most blocks that may be open at the same time; some servers end all of them at the very end.
const MAX_OPEN: usize = 1024;

/// Longest blocks that are put together here, in bytes, all that are open taken together.
const MAX_KEPT_BYTES: usize = 8 << 20;

/// The open blocks, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    open: Vec<(u32, Block)>,
    /// Bytes of the blocks that are put together.
    kept_bytes: usize,
    /// Calls so far.
    calls: u32,
}

/// A block that has begun; its stop or the message's end ends it.
#[derive(Debug)]
enum Block {
    /// Text: passed on as it comes.
    Text,
    /// Readable reasoning: passed on as it comes; its first signature counts.
    Thinking { is_signed: bool },
    /// A call for the agent. The arguments of its start count when none were streamed.
    Call { index: u32, arguments: Arguments },
    /// Anything else: put together, and passed on whole at its end.
    Kept(Kept),
}

#[derive(Debug)]
enum Arguments {
    /// None were streamed yet; those of the block's start.
    Start(Text),
    Streamed,
}

/// A block that is put together.
#[derive(Debug)]
struct Kept {
    members: Members,
    /// The arguments of a server's tool, joined.
    input: String,
    bytes: usize,
}

/// More is open at the same time than is kept.
#[derive(Debug)]
pub(super) struct TooMuch;

impl Blocks {
    /// A block of text begins.
    pub(super) fn text(&mut self, index: u32) -> Result<(), TooMuch> {
        self.begin(index, Block::Text)
    }

    /// A block of reasoning begins.
    pub(super) fn thinking(&mut self, index: u32) -> Result<(), TooMuch> {
        self.begin(index, Block::Thinking { is_signed: false })
    }

    /// A call begins.
    pub(super) fn call(&mut self, index: u32, members: &Members) -> Result<StreamChunk, TooMuch> {
        let call = self.calls;
        self.calls += 1;
        let input = members.get("input").filter(|input| input.starts_with('{'));
        let input = input.and_then(|input| Json::parse(input).ok());
        let input = input.map(|input| plain(input.as_str())).filter(|input| input != "{}");
        let arguments = Arguments::Start(input.map(Text::from).unwrap_or_default());
        self.begin(index, Block::Call { index: call, arguments })?;
        let mut delta = ToolCallDelta::new(call).name(tool_names::decode(&members.text("name")));
        delta.id = Some(members.text("id")).filter(|id| !id.is_empty());
        Ok(StreamChunk::calls(vec![delta]))
    }

    /// Any other block begins.
    pub(super) fn keep(&mut self, index: u32, members: Members) -> Result<(), TooMuch> {
        let bytes = members.bytes();
        self.grow(bytes)?;
        self.begin(index, Block::Kept(Kept { members, input: String::new(), bytes }))
    }

    /// The block that began last.
    pub(super) fn last(&self) -> Option<u32> {
        self.open.last().map(|(index, _)| *index)
    }

    /// The index of a block that comes without one.
    pub(super) fn next(&self) -> u32 {
        self.last().map_or(0, |index| index.saturating_add(1))
    }

    /// Whether the parts of this block are put together here.
    pub(super) fn is_kept(&self, index: u32) -> bool {
        self.open.iter().any(|(at, block)| *at == index && matches!(block, Block::Kept(_)))
    }

    /// Adds a part to a block that is put together.
    pub(super) fn add(&mut self, index: u32, delta: Members) -> Result<(), TooMuch> {
        let bytes = delta.bytes();
        self.grow(bytes)?;
        if let Some(Block::Kept(kept)) = self.get(index) {
            kept.bytes += bytes;
            kept.members.add(delta);
        }
        Ok(())
    }

    /// Takes a piece of arguments; gives the delta when they are a call's for the agent.
    pub(super) fn arguments(
        &mut self,
        index: u32,
        piece: Text,
    ) -> Result<Option<ToolCallDelta>, TooMuch> {
        if self.is_kept(index) {
            self.grow(piece.len())?;
        }
        Ok(match self.get(index) {
            Some(Block::Call { index, arguments }) if !piece.is_empty() => {
                *arguments = Arguments::Streamed;
                Some(ToolCallDelta::new(*index).arguments(piece))
            }
            Some(Block::Kept(kept)) => {
                kept.bytes += piece.len();
                kept.input.push_str(&piece);
                None
            }
            Some(Block::Text | Block::Thinking { .. } | Block::Call { .. }) | None => None,
        })
    }

    /// Whether a signature of this block is its first.
    pub(super) fn sign(&mut self, index: u32) -> bool {
        match self.get(index) {
            Some(Block::Thinking { is_signed }) => !std::mem::replace(is_signed, true),
            Some(Block::Text | Block::Call { .. } | Block::Kept(_)) | None => true,
        }
    }

    /// The block ends.
    pub(super) fn stop(&mut self, index: u32) -> Option<StreamChunk> {
        let at = self.open.iter().rposition(|(open, _)| *open == index)?;
        let (_, block) = self.open.remove(at);
        self.end(block, true)
    }

    /// The message ends, and with it every block; a call that its block's stop did not end may be cut.
    pub(super) fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) {
        for (_, block) in std::mem::take(&mut self.open) {
            self.end(block, false).into_iter().for_each(&mut *emit);
        }
    }

    fn end(&mut self, block: Block, ended: bool) -> Option<StreamChunk> {
        match block {
            Block::Text | Block::Thinking { .. } => None,
            Block::Call { index, arguments } => {
                let mut delta = ToolCallDelta::new(index);
                delta.ended = ended;
                if let Arguments::Start(input) = arguments {
                    delta.arguments = input;
                }
                let says_something = delta.ended || !delta.arguments.is_empty();
                says_something.then(|| StreamChunk::calls(vec![delta]))
            }
            Block::Kept(Kept { mut members, input, bytes }) => {
                self.kept_bytes = self.kept_bytes.saturating_sub(bytes);
                if !input.is_empty() {
                    // Arguments that were cut are kept as the text that they are.
                    let cut = |_| Json::from(serde_json::Value::from(input.as_str()));
                    let input = Json::parse(&input).unwrap_or_else(cut);
                    members.set("input", plain(input.as_str()));
                }
                Some(StreamChunk::events(vec![AgentEvent::ProviderItem(items::block(&members))]))
            }
        }
    }

    fn begin(&mut self, index: u32, block: Block) -> Result<(), TooMuch> {
        if self.open.len() >= MAX_OPEN {
            return Err(TooMuch);
        }
        self.open.push((index, block));
        Ok(())
    }

    fn get(&mut self, index: u32) -> Option<&mut Block> {
        self.open.iter_mut().rev().find(|(open, _)| *open == index).map(|(_, block)| block)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), TooMuch> {
        self.kept_bytes += bytes;
        if self.kept_bytes > MAX_KEPT_BYTES { Err(TooMuch) } else { Ok(()) }
    }
}
