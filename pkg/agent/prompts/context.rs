//! The context in which the parts of a system prompt are built.

use std::{
    any::Any,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::SystemTime,
};

use crate::{
    run::{OutsideSources, RunContext, SharedState},
    support::clock,
};
use forgeline_llm::ToolSpec;
use forgeline_types::{Message, Text, Transcript};

/// Maximum number of the conversation's messages shown to a part of the system prompt.
const MAX_RECENT_MESSAGES: usize = 6;

/// The context in which a part of the system prompt is built. Clones share large values.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{Agent, prompts::PromptContext}, llm::demo::DemoProvider};
///
/// let agent = Agent::builder(DemoProvider::new())
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
    /// The id of the run.
    pub run_id: Text,
    /// The user's input.
    pub input: String,
    /// The context of the run, such as its caller, the module and the page.
    pub run: RunContext,
    state: SharedState,
    around: Option<Arc<SharedValues>>,
    /// The index of this part among the parts of the prompt.
    part: usize,
}

/// The values that the parts of one run share.
#[derive(Debug, Default)]
struct SharedValues {
    conversation: Transcript,
    agent_number: usize,
    tools: Arc<[ToolSpec]>,
    withheld: Box<[Text]>,
    /// The answers that parts give in place of the model, with the indices of the parts.
    answers: Mutex<Vec<(usize, Box<str>)>>,
    /// The time at which the parts are built.
    now: Option<SystemTime>,
    /// `true` when the lengths of the parts are recorded.
    is_observed: bool,
    places: OnceLock<Box<[(usize, usize)]>>,
    outside: Mutex<OutsideSources>,
}

impl PromptContext {
    pub(crate) fn new(run_id: Text, input: String, run: RunContext, state: SharedState) -> Self {
        Self { run_id, input, run, state, around: None, part: 0 }
    }

    /// Adds the conversation, the number of agents that wait for this one, the tools of the run,
    /// and the names of the tools that the run may not use.
    pub(crate) fn around(
        mut self,
        conversation: Transcript,
        agent_number: usize,
        tools: Arc<[ToolSpec]>,
        withheld: Box<[Text]>,
    ) -> Self {
        let now = Some(clock::system_now());
        let around = SharedValues {
            conversation,
            agent_number,
            tools,
            withheld,
            now,
            ..SharedValues::default()
        };
        self.around = Some(Arc::new(around));
        self
    }

    /// Enables recording of the parts' lengths.
    pub(crate) fn observed(mut self) -> Self {
        if let Some(around) = self.around.as_mut().and_then(Arc::get_mut) {
            around.is_observed = true;
        }
        self
    }

    /// Records the indices and lengths of the parts that are not empty, where recording is enabled.
    pub(super) fn keep_places(&self, places: impl Iterator<Item = (usize, usize)>) {
        if let Some(around) = self.around.as_deref().filter(|around| around.is_observed) {
            around.places.get_or_init(|| places.collect());
        }
    }

    /// Returns the indices and lengths of the parts that are not empty.
    pub(crate) fn places(&self) -> Option<Box<[(usize, usize)]>> {
        let kept = self.around.as_ref().and_then(|around| around.places.get()).cloned();
        kept.or_else(|| self.around.is_none().then(Box::default))
    }

    /// Returns the time at which the prompt is built, which is the same for all parts.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.around.as_ref().and_then(|around| around.now).unwrap_or_else(clock::system_now)
    }

    /// Answers in place of the model, which is not asked: the run ends with this text as its answer, as
    /// [`PromptAnswered`](crate::OutcomeKind::PromptAnswered). Only the first answer of a part counts, and if several parts answer,
    /// that of the first part in order. An empty answer is ignored, as is that of a part that fails.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::{Agent, prompts::PromptContext}, testing::ScriptedProvider};
    ///
    /// let agent = Agent::builder(ScriptedProvider::new([]))
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
        let Some(around) = &self.around else { return };
        let mut answers = around.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.iter().all(|(part, _)| *part != self.part) {
            answers.push((self.part, text.into().into_boxed_str()));
        }
    }

    /// Marks the part as containing text from [outside](forgeline_types::TextOrigin::Outside): from
    /// now on in the conversation, calls that cannot be undone need approval.
    pub fn add_outside_text(&self) {
        self.add_outside(&OutsideSources::Several);
    }

    /// Marks the part as containing text from outside, all of it from the [source](crate::tools::Tool::outside_source) with this name: what a person
    /// allowed for the tools of the same source still holds.
    pub fn add_outside_text_of(&self, source: &str) {
        self.add_outside(&OutsideSources::of(Some(source)));
    }

    /// Marks the part as containing text of these sources.
    pub(super) fn add_outside(&self, sources: &OutsideSources) {
        if let Some(around) = &self.around {
            around.outside.lock().unwrap_or_else(PoisonError::into_inner).add(sources);
        }
    }

    /// Returns the sources of the text from outside in the parts.
    pub(super) fn outside(&self) -> OutsideSources {
        let Some(around) = &self.around else { return OutsideSources::None };
        around.outside.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the same context for the part with this index.
    pub(super) fn of_part(&self, part: usize) -> Self {
        Self { part, ..self.clone() }
    }

    /// Returns `true` when the part has answered.
    pub(super) fn has_answered(&self) -> bool {
        self.answer_of(self.part).is_some()
    }

    /// Returns the answer of the part with this index.
    pub(super) fn answer_of(&self, part: usize) -> Option<Box<str>> {
        let answers = self.around.as_ref()?.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |it: &&(usize, Box<str>)| it.0 == part && !it.1.trim().is_empty();
        answers.iter().find(is_it).map(|(_, text)| text.clone())
    }

    /// Returns the last messages of the conversation before the input, at most six, the oldest first.
    #[must_use]
    pub fn recent(&self) -> &[Arc<Message>] {
        let Some(around) = &self.around else { return &[] };
        let messages = around.conversation.messages();
        messages.last_chunk::<MAX_RECENT_MESSAGES>().map_or(messages, |last| last)
    }

    /// Returns the number of agents that wait for this one: 0 for the agent that talks to the user.
    #[must_use]
    pub fn agent_number(&self) -> usize {
        self.around.as_deref().map_or(0, |around| around.agent_number)
    }

    /// Returns the names of the tools that the model is offered, in the order in which they are offered.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.around.iter().flat_map(|around| {
            let names = around.tools.iter().map(|spec| &spec.name);
            names.filter(|name| !around.withheld.contains(name)).map(Text::as_str)
        })
    }

    /// Returns the shared value of type `T` that the run's input supplied or, failing that, the one
    /// with which the agent was built.
    #[must_use]
    pub fn state<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.run.state().or_else(|| self.state.get())
    }
}
