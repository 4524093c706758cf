//! The context in which the parts of a system prompt are made.

use std::{any::Any, sync::Arc};

use crate::{
    agent::run::{RunContext, SharedState},
    llm::ToolSpec,
    types::{Message, Text},
};

/// Most messages of the conversation that a part of the system prompt is shown.
const MAX_RECENT_MESSAGES: usize = 6;

/// The context in which a part of the system prompt is made. Clones share what is large.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{DefaultAgent, prompts::PromptContext}, llm::demo::DemoProvider};
///
/// let agent = DefaultAgent::builder(DemoProvider::new())
///     .system(|context: PromptContext| async move {
///         let names: Vec<_> = context.tool_names().collect();
///         Ok(format!("You have {} tools, on page {:?}.", names.len(), context.run.page()))
///     })
///     .build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PromptContext {
    /// Returns the id of the run.
    pub run_id: Text,
    /// The user's input.
    pub input: String,
    /// The context of the run, such as who it works for, the module and the page.
    pub run: RunContext,
    state: SharedState,
    around: Option<Arc<Around>>,
}

/// The value that the parts of one run share.
#[derive(Debug, Default)]
struct Around {
    recent: Vec<Arc<Message>>,
    agent_number: usize,
    tools: Arc<[ToolSpec]>,
    withheld: Vec<Text>,
}

impl PromptContext {
    pub(crate) fn new(run_id: Text, input: String, run: RunContext, state: SharedState) -> Self {
        Self { run_id, input, run, state, around: None }
    }

    /// Adds the conversation, the number of agents that wait for this one, the tools of the run, and the names of
    /// those that it may not use.
    pub(crate) fn around(
        mut self,
        messages: &[Arc<Message>],
        agent_number: usize,
        tools: Arc<[ToolSpec]>,
        withheld: Vec<Text>,
    ) -> Self {
        let left_out = messages.len().saturating_sub(MAX_RECENT_MESSAGES);
        let recent = messages.iter().skip(left_out).cloned().collect();
        self.around = Some(Arc::new(Around { recent, agent_number, tools, withheld }));
        self
    }

    /// Returns the last messages of the conversation before the input, at most six, the oldest first.
    #[must_use]
    pub fn recent(&self) -> &[Arc<Message>] {
        self.around.as_deref().map_or(&[], |around| &around.recent)
    }

    /// Returns the number of agents that wait for this one: 0 for the agent that the user talks to.
    #[must_use]
    pub fn agent_number(&self) -> usize {
        self.around.as_deref().map_or(0, |around| around.agent_number)
    }

    /// Returns the names of the tools that the model is offered, in the order in which they are.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.around.iter().flat_map(|around| {
            let names = around.tools.iter().map(|spec| &spec.name);
            names.filter(|name| !around.withheld.contains(name)).map(Text::as_str)
        })
    }

    /// Returns the shared value of type `T` that the input of the run brought along, or else the one
    /// that the agent was built with.
    #[must_use]
    pub fn state<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.run.state().or_else(|| self.state.get())
    }
}
