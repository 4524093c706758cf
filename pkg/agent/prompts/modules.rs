//! The part of the system prompt for the user's current module.

use std::{collections::BTreeMap, future::ready};

use futures_core::future::BoxFuture;

use super::{PromptContext, SystemPrompt};
use forgeline_types::{AgentError, Text};

/// The part of the system prompt for the [module](crate::RunInput::module) of the
/// application in which the user is. A module without a text adds nothing.
///
/// # Examples
///
/// Layers are parts in order: the platform, the team, the module.
///
/// ```
/// use forgeline::{agent::{Agent, prompts::ModulePrompts}, llm::demo::DemoProvider};
///
/// let agent = Agent::builder(DemoProvider::new())
///     .system("You help the users of a shop.")
///     .system("The shop sells bicycles.")
///     .system(ModulePrompts::new().module("orders", "An order has a number such as A-17."))
///     .build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ModulePrompts {
    texts: BTreeMap<Text, String>,
}

impl ModulePrompts {
    /// Returns a part without modules.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the text of a module.
    #[must_use]
    pub fn module(mut self, name: impl Into<Text>, text: impl Into<String>) -> Self {
        self.texts.insert(name.into(), text.into());
        self
    }
}

impl SystemPrompt for ModulePrompts {
    fn build(&self, context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        let found = context.run.module().and_then(|module| self.texts.get_key_value(module));
        let filled = found.filter(|(_, text)| !text.trim().is_empty());
        let text = filled.map(|(name, text)| format!("## Module: {name}\n\n{}", text.trim()));
        Box::pin(ready(Ok(text.unwrap_or_default())))
    }
}
