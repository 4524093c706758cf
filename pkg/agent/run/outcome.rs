//! The outcome of a run.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::budget::{Limit, Spending};
use forgeline_llm::{Cost, ProviderError};
use forgeline_types::{AgentError, Ending, ErrorCode, FinishReason, Message, Text, UsageInfo};

/// The outcome of a run.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{Agent, OutcomeKind, RunOutcome},
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
///
/// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hello.")]);
/// let outcome = Agent::builder(provider).build()?.run("Hi").await?;
/// assert_eq!((outcome.text.as_str(), outcome.turns), ("Hello.", 1));
/// assert_eq!(outcome.reason, OutcomeKind::Answer);
///
/// let kept: RunOutcome = serde_json::from_str(&serde_json::to_string(&outcome)?)?;
/// assert_eq!(kept.messages.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The id of the run.
    pub run_id: Text,
    /// The text to show: the last answer, or the text of the tool that ended the run.
    pub text: String,
    /// The reason for which the run ended.
    pub reason: OutcomeKind,
    /// The number of model answers in this run.
    pub turns: u32,
    /// The token usage of all requests of this run, without its sub-agents; `None` if the provider reported none.
    pub usage: Option<UsageInfo>,
    /// The part of its budget that the run used, including all [sub-agents](crate::sub_agents::SubAgent).
    pub spent: Spending,
    /// The finish reason of the model's last answer.
    pub finish_reason: Option<FinishReason>,
    /// The messages for the run that it could no longer deliver; see [`Steering`](crate::steering::Steering).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undelivered: Vec<Message>,
    /// The messages that this run added to the conversation, the user's first.
    pub messages: Vec<Arc<Message>>,
}

/// The text for the user if the model has not answered.
pub(crate) const NO_ANSWER: &str = "The model gave no answer. Ask again in other words, or for less at \
    once.";

/// The reason for which a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutcomeKind {
    /// The model answered without a call.
    Answer,
    /// The model called `task_completion`.
    #[non_exhaustive]
    TaskCompleted {
        /// The result, for the user.
        result: String,
    },
    /// The model called `ask_question`.
    #[non_exhaustive]
    QuestionAsked {
        /// The question.
        question: String,
        /// Suggested answers; may be empty.
        suggestions: Vec<String>,
    },
    /// The model called `converse`.
    #[non_exhaustive]
    Conversed {
        /// The message to the user.
        message: String,
    },
    /// Another loop-breaking tool ran.
    #[non_exhaustive]
    Tool {
        /// The tool's name.
        name: Text,
        /// The tool's result.
        result: String,
    },
    /// The model answered without a call, and the length limit cut off the answer, which was not, or no longer,
    /// [continued](crate::config::AgentConfig::continue_cut).
    Cut,
    /// The model gave no answer, even after it was asked once more. The outcome's text, which is in the conversation, says so to the user.
    Empty,
    /// A part of the system prompt [answered](crate::prompts::PromptContext::answer); the model was not called.
    PromptAnswered,
    /// A limit was reached, and the model gave its answer without tools.
    #[non_exhaustive]
    LimitReached {
        /// The limit.
        limit: Limit,
    },
    /// The run failed, was cancelled, or ended without what was asked for: [`ending`](Self::ending) says which. Its content so far is kept.
    #[non_exhaustive]
    Failed {
        /// The cause.
        error: AgentError,
    },
}

impl OutcomeKind {
    /// Creates the end by this failure.
    #[must_use]
    pub fn failed(error: AgentError) -> Self {
        Self::Failed { error }
    }
}

/// The error of a run that failed, was cancelled, or ended without an answer, with its outcome so far.
///
/// Its [source](std::error::Error::source) is the [`ProviderError`], where a provider caused it in this process.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::Agent,
///     llm::ProviderError,
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
///
/// let provider = ScriptedProvider::new([ScriptedTurn::refuse(ProviderError::config("no key is set"))]);
/// let error = Agent::builder(provider).build()?.run("Hi").await.unwrap_err();
/// assert!(matches!(error.provider_error(), Some(ProviderError::Config { .. })));
/// assert_eq!((error.retry_after(), error.request_id()), (None, None));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunError {
    /// The cause.
    pub error: AgentError,
    /// The outcome so far.
    pub outcome: Box<RunOutcome>,
}

impl RunError {
    /// Returns the provider's error, if one caused this one. A run that was resumed in another process has its message only.
    #[must_use]
    pub fn provider_error(&self) -> Option<&ProviderError> {
        self.error.cause()?.downcast_ref()
    }

    /// Returns the delay before the next attempt that the provider's server asks for.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.provider_error()?.retry_after()
    }

    /// Returns the id that the provider's server gave the request, for its support team.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.provider_error()?.request_id()
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(formatter)
    }
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.cause().map(|cause| cause as &(dyn Error + 'static))
    }
}

impl OutcomeKind {
    /// Returns the way in which the run ended, in the vocabulary that events, records and encoders share.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::{agent::OutcomeKind, types::{AgentError, Ending, ErrorCode}};
    ///
    /// let error = AgentError::new(ErrorCode::Refused, "m refused to answer");
    /// assert_eq!(OutcomeKind::failed(error).ending(), Ending::Refused);
    /// assert_eq!(OutcomeKind::Answer.ending(), Ending::Answered);
    /// ```
    #[must_use]
    pub fn ending(&self) -> Ending {
        match self {
            Self::Answer
            | Self::TaskCompleted { .. }
            | Self::QuestionAsked { .. }
            | Self::Conversed { .. }
            | Self::Tool { .. }
            | Self::PromptAnswered => Ending::Answered,
            Self::Cut => Ending::Cut,
            Self::Empty => Ending::Empty,
            Self::LimitReached { .. } => Ending::Limit,
            Self::Failed { error } => Ending::from(error.code),
        }
    }

    /// Returns the error of a run that ended without what was asked for.
    #[must_use]
    pub fn error(&self) -> Option<AgentError> {
        match self {
            Self::Failed { error } => Some(error.clone()),
            Self::Empty => Some(AgentError::new(ErrorCode::EmptyAnswer, NO_ANSWER)),
            Self::Answer
            | Self::TaskCompleted { .. }
            | Self::QuestionAsked { .. }
            | Self::Conversed { .. }
            | Self::Tool { .. }
            | Self::PromptAnswered
            | Self::Cut
            | Self::LimitReached { .. } => None,
        }
    }

    /// Returns the text of the tool that ended the run, if any.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::TaskCompleted { result } | Self::Tool { result, .. } => Some(result),
            Self::QuestionAsked { question, .. } => Some(question),
            Self::Conversed { message } => Some(message),
            Self::Answer
            | Self::Cut
            | Self::Empty
            | Self::PromptAnswered
            | Self::LimitReached { .. }
            | Self::Failed { .. } => None,
        }
    }
}

impl RunOutcome {
    pub(crate) fn new(run_id: Text) -> Self {
        Self {
            run_id,
            text: String::new(),
            reason: OutcomeKind::Answer,
            turns: 0,
            usage: None,
            spent: Spending::default(),
            finish_reason: None,
            undelivered: Vec::new(),
            messages: Vec::new(),
        }
    }

    /// Returns the cost of all requests at the [catalog](forgeline_llm::ModelCard) prices of the model; `None` if the price, or the tokens of an answer, are
    /// unknown.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::Agent, llm::demo::DemoProvider};
    ///
    /// let outcome = Agent::builder(DemoProvider::new()).build()?.run("Hi").await?;
    /// assert_eq!(outcome.cost(), None, "the demo has no price");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cost(&self) -> Option<Cost> {
        self.spent.cost
    }

    /// Returns the outcome of a run that succeeded.
    ///
    /// # Errors
    ///
    /// Returns the cause if the run failed, was cancelled, or ended without an answer.
    pub fn into_result(self) -> Result<Self, RunError> {
        match self.reason.error() {
            Some(error) => Err(RunError { error, outcome: Box::new(self) }),
            None => Ok(self),
        }
    }
}
