//! The part of the system prompt that states which agent is speaking.

use std::future::ready;

use futures_core::future::BoxFuture;

use super::{PromptContext, SystemPrompt};
use forgeline_types::AgentError;

/// The part of the system prompt that states which agent is speaking, by its [number](PromptContext::agent_number):
/// agent 0 talks to the user, each other agent works for the one before it.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{Agent, prompts::IdentityPrompt}, llm::demo::DemoProvider};
///
/// let agent = Agent::builder(DemoProvider::new()).system(IdentityPrompt).build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct IdentityPrompt;

impl SystemPrompt for IdentityPrompt {
    fn build(&self, context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        let number = context.agent_number();
        let role = number.checked_sub(1).map_or_else(
            || "You talk to the user directly.".to_owned(),
            |above| format!("You work on a task of agent {above}, and report to it."),
        );
        Box::pin(ready(Ok(format!("## Who you are\n\nYou are agent {number}. {role}"))))
    }
}
