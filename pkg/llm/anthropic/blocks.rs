//! The open blocks of an answer, by their index.

use super::items;
use crate::{
    StreamChunk, ToolCallDelta,
    decode::tool_name,
    decode::{
        EventFault, JsonMembers,
        lax_json::{arguments, plain},
    },
};
use forgeline_types::{Json, Text};

/// Maximum number of blocks open at the same time; some servers end all of them at the very end.
const MAX_OPEN: usize = 1024;

/// Maximum total size of the open blocks that are assembled here, in bytes.
const MAX_KEPT_BYTES: usize = 8 << 20;

/// The open blocks, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct OpenBlocks {
    open: Vec<(u32, OpenBlock)>,
    /// The size of the blocks being assembled, in bytes.
    kept_bytes: usize,
    /// The number of calls so far.
    calls: u32,
}

/// An open block, ended by its stop or by the message's end.
#[derive(Debug)]
enum OpenBlock {
    /// Text, passed on as it arrives.
    Text,
    /// Readable reasoning, passed on as it arrives; its first signature counts.
    Thinking { is_signed: bool },
    /// A call for the agent. The arguments in its start count if none are streamed.
    Call { index: u32, arguments: BlockArguments },
    /// Anything else: assembled, and passed on whole at its end.
    Kept(AssembledBlock),
}

#[derive(Debug)]
enum BlockArguments {
    /// None have been streamed yet; holds those of the block's start.
    Start(Text),
    Streamed,
}

/// A block that is assembled.
#[derive(Debug)]
struct AssembledBlock {
    members: JsonMembers,
    /// The arguments of a server tool, joined.
    input: String,
    bytes: usize,
}

/// The fault of more or longer blocks than can be kept.
const TOO_MUCH: EventFault = EventFault::Limit("too many open blocks, or too long ones");

impl OpenBlocks {
    /// Begins a block of text.
    pub(super) fn text(&mut self, index: u32) -> Result<(), EventFault> {
        self.begin(index, OpenBlock::Text)
    }

    /// Begins a block of reasoning.
    pub(super) fn thinking(&mut self, index: u32) -> Result<(), EventFault> {
        self.begin(index, OpenBlock::Thinking { is_signed: false })
    }

    /// Begins a call.
    pub(super) fn call(
        &mut self,
        index: u32,
        members: &JsonMembers,
    ) -> Result<ToolCallDelta, EventFault> {
        let call = self.calls;
        self.calls += 1;
        let input = Some(arguments(members.get("input"))).filter(|input| input != "{}");
        let arguments = BlockArguments::Start(input.unwrap_or_default());
        self.begin(index, OpenBlock::Call { index: call, arguments })?;
        let mut delta = ToolCallDelta::new(call).name(tool_name(&members.text("name")));
        delta.id = Some(members.text("id")).filter(|id| !id.is_empty());
        delta.signature = items::more_of_call(members);
        Ok(delta)
    }

    /// Begins any other block.
    pub(super) fn keep(&mut self, index: u32, members: JsonMembers) -> Result<(), EventFault> {
        let bytes = members.bytes();
        self.grow(bytes)?;
        self.begin(index, OpenBlock::Kept(AssembledBlock { members, input: String::new(), bytes }))
    }

    /// Returns the index of the block that began last.
    pub(super) fn last(&self) -> Option<u32> {
        self.open.last().map(|(index, _)| *index)
    }

    /// Returns the index for a block that comes without one.
    pub(super) fn next(&self) -> u32 {
        self.last().map_or(0, |index| index.saturating_add(1))
    }

    /// Returns `true` if this block is assembled here.
    pub(super) fn is_kept(&self, index: u32) -> bool {
        self.open.iter().any(|(at, block)| *at == index && matches!(block, OpenBlock::Kept(_)))
    }

    /// Adds a part to a block that is assembled.
    pub(super) fn add(&mut self, index: u32, delta: JsonMembers) -> Result<(), EventFault> {
        let bytes = delta.bytes();
        self.grow(bytes)?;
        if let Some(OpenBlock::Kept(kept)) = self.get(index) {
            kept.bytes += bytes;
            kept.members.merge(delta.without("type"), |_| true);
        }
        Ok(())
    }

    /// Adds a piece of arguments; returns the delta if the arguments belong to a call for the agent.
    pub(super) fn arguments(
        &mut self,
        index: u32,
        piece: Text,
    ) -> Result<Option<ToolCallDelta>, EventFault> {
        if self.is_kept(index) {
            self.grow(piece.len())?;
        }
        Ok(match self.get(index) {
            Some(OpenBlock::Call { index, arguments }) if !piece.is_empty() => {
                *arguments = BlockArguments::Streamed;
                Some(ToolCallDelta::new(*index).arguments(piece))
            }
            Some(OpenBlock::Kept(kept)) => {
                kept.bytes += piece.len();
                kept.input.push_str(&piece);
                None
            }
            Some(OpenBlock::Text | OpenBlock::Thinking { .. } | OpenBlock::Call { .. }) | None => {
                None
            }
        })
    }

    /// Returns `true` for the first signature of a block.
    pub(super) fn sign(&mut self, index: u32) -> bool {
        match self.get(index) {
            Some(OpenBlock::Thinking { is_signed }) => !std::mem::replace(is_signed, true),
            Some(OpenBlock::Text | OpenBlock::Call { .. } | OpenBlock::Kept(_)) | None => true,
        }
    }

    /// Ends a block.
    pub(super) fn stop(&mut self, index: u32) -> Option<StreamChunk> {
        let at = self.open.iter().rposition(|(open, _)| *open == index)?;
        let (_, block) = self.open.remove(at);
        self.end(block, true)
    }

    /// Ends the message and with it every block; a call without its block's stop may have been cut off.
    pub(super) fn finish(&mut self) -> Vec<StreamChunk> {
        let open = std::mem::take(&mut self.open).into_iter();
        open.filter_map(|(_, block)| self.end(block, false)).collect()
    }

    fn end(&mut self, block: OpenBlock, ended: bool) -> Option<StreamChunk> {
        match block {
            OpenBlock::Text | OpenBlock::Thinking { .. } => None,
            OpenBlock::Call { index, arguments } => {
                let mut delta = ToolCallDelta::new(index);
                delta.ended = ended;
                if let BlockArguments::Start(input) = arguments {
                    delta.arguments = input;
                }
                let says_something = delta.ended || !delta.arguments.is_empty();
                says_something.then(|| StreamChunk::calls(vec![delta]))
            }
            OpenBlock::Kept(AssembledBlock { mut members, input, bytes }) => {
                self.kept_bytes = self.kept_bytes.saturating_sub(bytes);
                if !input.is_empty() {
                    // Truncated arguments are kept as a JSON string.
                    let cut = |_| Json::from(serde_json::Value::from(input.as_str()));
                    let input = Json::parse(&input).unwrap_or_else(cut);
                    members.set("input", plain(input.as_str()));
                }
                items::block(&members).map(|item| StreamChunk::events(vec![item]))
            }
        }
    }

    fn begin(&mut self, index: u32, block: OpenBlock) -> Result<(), EventFault> {
        if self.open.len() >= MAX_OPEN {
            return Err(TOO_MUCH);
        }
        self.open.push((index, block));
        Ok(())
    }

    fn get(&mut self, index: u32) -> Option<&mut OpenBlock> {
        self.open.iter_mut().rev().find(|(open, _)| *open == index).map(|(_, block)| block)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), EventFault> {
        self.kept_bytes += bytes;
        if self.kept_bytes > MAX_KEPT_BYTES { Err(TOO_MUCH) } else { Ok(()) }
    }
}
