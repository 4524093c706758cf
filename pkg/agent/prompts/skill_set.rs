//! Skills as the agent sees them.

use std::sync::Arc;

use super::system::SystemPrompt;
use crate::tools::Tool;

/// A set of skills: a part of the system prompt that lists them, and the tools that load them.
///
/// `Skills` of `forgeline::agent::skills` is the one that reads folders.
pub trait SkillSet {
    /// Returns the part of the system prompt that lists the skills; `None` for an empty set.
    fn list(&self) -> Option<Arc<dyn SystemPrompt>>;

    /// Returns the tools that load a skill.
    fn loaders(&self) -> Vec<Arc<dyn Tool>>;
}
