//! How a run ended.

use std::sync::Arc;

use super::tools::{ASK_QUESTION, Asked, CONVERSE, TASK_COMPLETION};
use crate::types::{AgentError, FinishReason, Json, Message, Text, UsageInfo};

/// What a run came to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The id of the run.
    pub run_id: Text,
    /// What to show the user: the last answer, or the text of the tool that ended the run.
    pub text: String,
    /// Why the run ended.
    pub reason: OutcomeKind,
    /// Answers of the model in this run.
    pub turns: u32,
    /// Tokens of all calls to the provider together; `None` when it reported none.
    pub usage: Option<UsageInfo>,
    /// Why the model stopped, the last time.
    pub finish_reason: Option<FinishReason>,
    /// The messages that this run added to the conversation, the user's first.
    pub messages: Vec<Arc<Message>>,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OutcomeKind {
    /// The model answered without a call.
    Answer,
    /// The model called `task_completion`.
    TaskCompleted {
        /// What was done.
        result: String,
    },
    /// The model called `ask_question`.
    QuestionAsked {
        /// The question.
        question: String,
        /// Answers to choose from; may be empty.
        suggestions: Vec<String>,
    },
    /// The model called `converse`.
    Conversed {
        /// What it said.
        message: String,
    },
    /// Another loop-breaking tool ran.
    Tool {
        /// Its name.
        name: Text,
        /// Its result.
        result: String,
    },
    /// The limit of turns was reached and the model gave its answer without tools.
    MaxTurns,
    /// The run failed or was cancelled; what had arrived is kept.
    Failed {
        /// Why.
        error: AgentError,
    },
}

/// A run that failed or was cancelled, with what it had come to.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct RunError {
    /// Why.
    pub error: AgentError,
    /// What had arrived until then.
    pub outcome: Box<RunOutcome>,
}

impl OutcomeKind {
    /// What a loop-breaking call that went well means.
    pub(super) fn of_call(name: &Text, arguments: Option<&Json>, result: &str) -> Self {
        let result = result.to_owned();
        match name.as_str() {
            TASK_COMPLETION => Self::TaskCompleted { result },
            CONVERSE => Self::Conversed { message: result },
            ASK_QUESTION => {
                let asked = arguments.and_then(|arguments| arguments.read::<Asked>().ok());
                let suggestions = asked.map(|asked| asked.suggestions).unwrap_or_default();
                Self::QuestionAsked { question: result, suggestions }
            }
            _ => Self::Tool { name: name.clone(), result },
        }
    }

    /// The text of the tool that ended the run, if one did.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::TaskCompleted { result } | Self::Tool { result, .. } => Some(result),
            Self::QuestionAsked { question, .. } => Some(question),
            Self::Conversed { message } => Some(message),
            Self::Answer | Self::MaxTurns | Self::Failed { .. } => None,
        }
    }
}

impl RunOutcome {
    /// The outcome of a run that ended well.
    ///
    /// # Errors
    ///
    /// The reason of one that did not.
    pub fn into_result(self) -> Result<Self, RunError> {
        match &self.reason {
            OutcomeKind::Failed { error } => {
                Err(RunError { error: error.clone(), outcome: Box::new(self) })
            }
            OutcomeKind::Answer
            | OutcomeKind::TaskCompleted { .. }
            | OutcomeKind::QuestionAsked { .. }
            | OutcomeKind::Conversed { .. }
            | OutcomeKind::Tool { .. }
            | OutcomeKind::MaxTurns => Ok(self),
        }
    }
}
