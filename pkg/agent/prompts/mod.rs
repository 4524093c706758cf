//! The system prompt and other texts for the model.

mod cached;
mod clock;
mod context;
pub(crate) mod feedback;
#[cfg(feature = "local-tools")]
mod file;
#[cfg(feature = "local-tools")]
pub(crate) mod file_text;
mod identity;
mod isolated;
mod modules;
#[cfg(feature = "local-tools")]
pub(super) mod project;
mod results;
mod skill_set;
mod system;
#[cfg(test)]
#[cfg(feature = "local-tools")]
mod tests;
#[cfg(feature = "local-tools")]
mod tool_files;
mod tools;

pub use cached::CachedPrompt;
pub use clock::ClockPrompt;
pub use context::PromptContext;
#[cfg(feature = "local-tools")]
pub use file::FilePrompt;
pub use identity::IdentityPrompt;
pub use isolated::IsolatedPrompt;
pub use modules::ModulePrompts;
#[cfg(feature = "local-tools")]
pub use project::{ProjectFile, ProjectPrompt};
pub(crate) use results::render_results;
pub use skill_set::SkillSet;
pub use system::SystemPrompt;
pub(crate) use system::{ComposedPrompt, compose, notes};
#[cfg(feature = "local-tools")]
pub use tool_files::ToolFilesPrompt;
pub(crate) use tools::{describe, line_of, render_call};
