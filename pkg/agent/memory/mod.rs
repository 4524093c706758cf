//! The memory of an agent.

mod conversation;
mod repair;
mod shared;
mod summary;
mod window;

pub use self::{
    conversation::{ConversationMemory, Memory},
    repair::repaired,
};
pub(super) use self::{
    repair::{readable, repair},
    shared::SharedMemory,
    summary::{SummaryParts, summary_tokens},
    window::{
        ContextWindow, EVERYTHING, WindowBounds, WindowStep, WriteResults, has_media, has_proofs,
        media_bytes, room_to_compact,
    },
};
