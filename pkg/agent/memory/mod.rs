//! What an agent remembers.

mod conversation;

pub use conversation::{ConversationMemory, Memory};
