//! What the model is told before the conversation.

mod system;
mod tools;

pub(crate) use system::compose;
pub use system::{PromptContext, SystemPrompt};
pub(crate) use tools::{describe, render_call, render_results};
