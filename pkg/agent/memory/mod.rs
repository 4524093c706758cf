//! The memory of an agent.

mod conversation;
mod shared;
mod window;

pub use self::conversation::{ConversationMemory, Memory};
pub(super) use self::{
    shared::SharedMemory,
    window::{LeftOut, Window},
};
