//! The input of a run.

use std::{
    any::Any,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;

use super::{Budget, Caller, RunContext, Surface};
use forgeline_llm::{AnswerSchema, private::media};
use forgeline_types::{
    AgentError, ErrorCode, Message, MessageRole, ModelInfo, Part, Text, private::clipped,
};

/// The input of a run: the user's message, and what the run needs to know about it. Nothing in the input
/// becomes a part of the system prompt unless one of the agent's own prompt parts includes it.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::{sync::Arc, time::{Duration, SystemTime}};
/// use forgeline::{
///     agent::{
///         Agent, Caller, RunInput,
///         run::Budget,
///         tools::{ToolContext, tool_fn},
///     },
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
/// use serde_json::json;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Nothing {}
///
/// struct Basket(Vec<&'static str>);
///
/// let count = tool_fn("count", "Counts the basket.", |context: ToolContext, _: Nothing| async move {
///     let things = context.state::<Basket>().map_or(0, |basket| basket.0.len());
///     format!("{things} things of {}", context.run().caller().map_or("all", |it| &it.id))
/// });
/// let turn = ScriptedTurn::new().call("count", json!({}));
/// let agent = Agent::builder(ScriptedProvider::new([turn, ScriptedTurn::new().text("Two.")]))
///     .tool(count)
///     .build()?;
/// let input = RunInput::from("How much is in my basket?")
///     .caller(Caller::new("ann").scope("shop-7"))
///     .page("basket")
///     .state(Arc::new(Basket(vec!["tea", "salt"])))
///     .deadline(SystemTime::now() + Duration::from_secs(60))
///     .budget(Budget::default().tokens(20_000));
/// let outcome = agent.run(input).await?;
/// let result = outcome.messages[2].tool_results().next().ok_or("no result")?;
/// assert_eq!(result.content, "2 things of ann");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RunInput {
    #[doc(hidden)]
    pub message: Message,
    #[doc(hidden)]
    pub context: RunContext,
    pub(crate) budget: Budget,
    /// The schema of the final answer. Boxed, since most runs have none.
    pub(crate) goal: Option<Box<AnswerSchema>>,
    /// `true` for an input that names a conversation, where none is stored.
    pub(crate) names_unknown: bool,
}

impl RunInput {
    /// Returns an input with this message, whose role becomes that of the user.
    #[must_use]
    pub fn new(message: impl Into<Message>) -> Self {
        let mut message = message.into();
        message.role = MessageRole::User;
        let (context, budget) = (RunContext::default(), Budget::default());
        Self { message, context, budget, goal: None, names_unknown: false }
    }

    /// Adds a part to the message, such as an image.
    #[must_use]
    pub fn part(mut self, part: Part) -> Self {
        self.message.parts.push(part);
        self
    }

    /// Marks the message as containing text from [outside](forgeline_types::TextOrigin::Outside), such as a
    /// pasted page: from now on in the conversation, calls that cannot be undone need approval.
    #[must_use]
    pub fn outside_text(mut self) -> Self {
        self.context.change(|data| data.is_outside = true);
        self
    }

    /// Sets the caller on whose behalf the run works.
    #[must_use]
    pub fn caller(mut self, caller: Caller) -> Self {
        self.context.change(|data| data.caller = Some(caller));
        self
    }

    /// Sets the module of the application from which the input comes.
    #[must_use]
    pub fn module(mut self, module: impl Into<Text>) -> Self {
        self.context.change(|data| data.module = Some(module.into()));
        self
    }

    /// Sets the page of the application from which the input comes.
    #[must_use]
    pub fn page(mut self, page: impl Into<Text>) -> Self {
        self.context.change(|data| data.page = Some(page.into()));
        self
    }

    /// Sets the surface on which the run is shown; tools for another surface are not offered.
    /// Default: none, and all tools are offered.
    #[must_use]
    pub fn surface(mut self, surface: Surface) -> Self {
        self.context.change(|data| data.surface = Some(surface));
        self
    }

    /// Chooses, for this run alone, one of the agent's [models](crate::AgentBuilder::model)
    /// by its name. Default: the agent's own. A run with an unknown name fails with
    /// [`ErrorCode::InvalidInput`], whose message lists the models that may be chosen.
    #[must_use]
    pub fn model(mut self, name: impl Into<Text>) -> Self {
        self.context.change(|data| data.model = Some(name.into()));
        self
    }

    /// Sets the id of the conversation. A run of an [`Agent`](crate::Agent) continues the conversation that the agent's
    /// [store](crate::AgentBuilder::conversations) has under this id, and fails if the agent has no store. A run of a
    /// [`Conversation`](crate::Conversation) continues that one; the id is then for tools and prompt parts only.
    #[must_use]
    pub fn conversation(mut self, id: impl Into<Text>) -> Self {
        self.context.change(|data| data.conversation = Some(id.into()));
        self
    }

    /// Adds a value for tools and prompt parts. The value is written to the agent's journal: put
    /// secrets in [`state`](Self::state) instead.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.context.change(|data| {
            data.metadata.insert(key.into(), value.into());
        });
        self
    }

    /// Shares a value with the tools and prompt parts of this run, one of each type. The value
    /// shadows the agent's value of that type, and is not written to a journal.
    #[must_use]
    pub fn state<T: Any + Send + Sync>(mut self, value: Arc<T>) -> Self {
        self.context.change(|data| data.state.insert(value));
        self
    }

    /// Sets the time at which the run is stopped, whatever it is doing; what has arrived by then is kept, and
    /// the run fails with [`ErrorCode::Timeout`]. The deadline also applies to a resumed run.
    #[must_use]
    pub fn deadline(mut self, at: SystemTime) -> Self {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        self.context.change(|data| data.deadline = Some(since));
        self
    }

    /// Narrows the agent's budget for this run.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Binds the run's final answer to a schema: the model works with its tools first, and then gives one
    /// answer that matches the schema, after the event [`ANSWER_TYPED`](crate::notice::ANSWER_TYPED). The text
    /// of the outcome is its JSON. See [`run_typed`](crate::Agent::run_typed).
    #[must_use]
    pub fn answer(mut self, schema: AnswerSchema) -> Self {
        self.goal = Some(Box::new(schema));
        self
    }

    /// Returns the message and the context as JSON, in the form in which a service stores an input.
    #[doc(hidden)]
    pub fn context(&self) -> &RunContext {
        &self.context
    }

    #[doc(hidden)]
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(&(&self.message, &self.context))
    }

    /// Parses the output of [`to_json`](Self::to_json).
    #[doc(hidden)]
    pub fn from_json(json: &str) -> serde_json::Result<Self> {
        let (message, context) = serde_json::from_str::<(Message, RunContext)>(json)?;
        Ok(Self { context, ..Self::new(message) })
    }

    /// Returns the input's other details (module, page, model and metadata) as JSON; `None` where it has none.
    #[doc(hidden)]
    pub fn about(&self) -> Option<String> {
        let context = &self.context;
        let texts =
            [("module", context.module()), ("page", context.page()), ("model", context.model())];
        let texts =
            texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
        let mut about: serde_json::Map<String, Value> = texts.collect();
        if let Some(metadata) = context.all_metadata().filter(|all| !all.is_empty()) {
            about.insert("metadata".to_owned(), metadata.clone().into());
        }
        (!about.is_empty()).then(|| Value::from(about).to_string())
    }

    /// Returns the message.
    #[doc(hidden)]
    pub fn into_message(self) -> Message {
        self.message
    }

    /// Returns the text of the message.
    #[doc(hidden)]
    pub fn text(&self) -> String {
        self.message.text()
    }

    /// Checks that the conversation that the input names can be found.
    pub(crate) fn check_conversation(&self) -> Result<(), AgentError> {
        match self.context.conversation().filter(|_| self.names_unknown) {
            Some(id) => Err(no_store(id)),
            None => Ok(()),
        }
    }

    /// Checks that a run can start now.
    pub(crate) fn check(&self, model: &ModelInfo, now: SystemTime) -> Result<(), AgentError> {
        if let Some(limit) = self.budget.zero() {
            let message = format!("`{limit}` of the input is 0; it must be more, or not set");
            return Err(AgentError::new(ErrorCode::InvalidInput, message));
        }
        let late = self.context.deadline().and_then(|at| now.duration_since(at).ok());
        if let Some(late) = late {
            let late = Duration::from_millis(u64::try_from(late.as_millis()).unwrap_or(u64::MAX));
            let message = format!(
                "the deadline of the input passed {late:?} before the run began; give a later one"
            );
            return Err(AgentError::new(ErrorCode::InvalidInput, message));
        }
        fit(&self.message, model)
    }
}

/// Returns the error of an input that names a conversation, for an agent without a store.
pub(crate) fn no_store(id: &str) -> AgentError {
    let message = format!(
        "the conversation `{}` cannot be found: the agent has no store of conversations; expected \
         `AgentBuilder::conversations`, or a run of a `Conversation`",
        clipped(id, 60)
    );
    AgentError::new(ErrorCode::InvalidInput, message)
}

/// Checks that a model accepts the parts of a user message.
pub(crate) fn fit(message: &Message, model: &ModelInfo) -> Result<(), AgentError> {
    let Some((problem, is_bad)) = media::unfit(&message.parts, model) else { return Ok(()) };
    let code = if is_bad { ErrorCode::InvalidInput } else { ErrorCode::Unsupported };
    Err(AgentError::new(code, problem))
}

impl From<Message> for RunInput {
    fn from(message: Message) -> Self {
        Self::new(message)
    }
}

impl From<&str> for RunInput {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for RunInput {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&String> for RunInput {
    fn from(text: &String) -> Self {
        Self::new(text)
    }
}

impl From<Vec<Part>> for RunInput {
    fn from(parts: Vec<Part>) -> Self {
        Self::new(Message::new(MessageRole::User, parts))
    }
}
