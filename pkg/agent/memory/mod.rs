//! The memory of an agent.

mod conversation;
mod shared;

pub use self::conversation::{ConversationMemory, Memory};
pub(super) use self::shared::SharedMemory;
