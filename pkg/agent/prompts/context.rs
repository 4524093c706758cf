//! The context in which the parts of a system prompt are made.

use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

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
    answer: Arc<OnceLock<String>>,
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
        Self { run_id, input, run, state, around: None, answer: Arc::default() }
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

    /// Answers in place of the model, which is not asked: the run ends with this text as its answer, as
    /// [`PromptAnswered`](crate::agent::OutcomeKind::PromptAnswered). The first answer of a part counts, of several
    /// parts that of the first in their order; an empty one is none, and so is that of a part that fails.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::{DefaultAgent, prompts::PromptContext}, testing::ScriptedProvider};
    ///
    /// let agent = DefaultAgent::builder(ScriptedProvider::new([]))
    ///     .system(|context: PromptContext| async move {
    ///         if context.input.contains("open") {
    ///             context.answer("From nine to five.");
    ///         }
    ///         Ok("You answer for a shop.".to_owned())
    ///     })
    ///     .build()?;
    /// assert_eq!(agent.run("When are you open?").await?.text, "From nine to five.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn answer(&self, text: impl Into<String>) {
        // A second answer does not count.
        let _earlier = self.answer.set(text.into());
    }

    /// Returns the same context for one part, whose answer is its own.
    pub(crate) fn of_part(&self) -> Self {
        Self { answer: Arc::default(), ..self.clone() }
    }

    /// Returns the answer of the part.
    pub(crate) fn take_answer(&self) -> Option<String> {
        self.answer.get().filter(|text| !text.trim().is_empty()).cloned()
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
