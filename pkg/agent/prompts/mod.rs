//! The system prompt and other texts of the agent.

mod results;
mod system;
mod tools;

pub(crate) use results::render_results;
pub(crate) use system::compose;
pub use system::{PromptContext, SystemPrompt};
pub(crate) use tools::{describe, render_call};
