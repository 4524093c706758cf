//! The memory of an agent.

mod conversation;
mod shared;
mod summary;
mod window;

pub use self::conversation::{ConversationMemory, Memory};
pub(super) use self::{
    shared::SharedMemory,
    summary::{Parts, summary_tokens},
    window::{Bounds, Look, Window},
};
