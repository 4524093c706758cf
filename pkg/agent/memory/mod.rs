//! The memory of an agent.

mod conversation;

pub use conversation::{ConversationMemory, Memory};
