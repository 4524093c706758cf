//! The system prompt and other texts for the model.

mod cached;
mod clock;
mod context;
#[cfg(feature = "files")]
mod file;
#[cfg(feature = "files")]
pub(in crate::agent) mod file_text;
mod identity;
mod isolated;
mod modules;
#[cfg(feature = "files")]
pub(super) mod project;
mod results;
mod system;
#[cfg(test)]
#[cfg(feature = "files")]
mod tests;
#[cfg(feature = "files")]
mod tool_files;
mod tools;

pub use cached::CachedPrompt;
pub use clock::ClockPrompt;
pub use context::PromptContext;
#[cfg(feature = "files")]
pub use file::FilePrompt;
pub use identity::IdentityPrompt;
pub use isolated::IsolatedPrompt;
pub use modules::ModulePrompts;
#[cfg(feature = "files")]
pub use project::{ProjectFile, ProjectPrompt};
pub(crate) use results::render_results;
pub use system::SystemPrompt;
pub(crate) use system::{Composed, compose, notes};
#[cfg(feature = "files")]
pub use tool_files::ToolFilesPrompt;
pub(crate) use tools::{describe, line_of, render_call};
