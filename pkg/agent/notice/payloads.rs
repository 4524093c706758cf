//! The data of the notices.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::run::Limit;
use forgeline_types::{Ending, Text};

/// Sent when [`CallMode::Auto`](crate::config::CallMode::Auto) falls back to text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallModeFallbackNotice {
    /// The mode until now: `native`.
    pub from: Text,
    /// The mode from now on: `text`.
    pub to: Text,
    /// The provider's message.
    pub reason: Text,
}

/// Sent, once in an agent's life, when the provider offered its function calling but the calls of a model that no table
/// knows came in its text, where they were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallsInTextNotice {
    /// The model's id.
    pub model: Text,
    /// The name of the dialect in which the text is read.
    pub dialect: Text,
}

/// Sent when a part of the conversation is left out of a request; see
/// [`AgentConfig::max_context_tokens`](crate::config::AgentConfig::max_context_tokens).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContextTrimmedNotice {
    /// The number of messages that are left out for the first time.
    pub messages: usize,
    /// The number of results that are left out for the first time.
    pub results: usize,
    /// The estimated tokens of the request.
    pub tokens: u64,
    /// The estimated tokens of the whole request.
    pub tokens_before: u64,
}

/// Sent when the provider refused a request because of a part of the conversation, which is left out from then on; the
/// request is sent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContentRefusedNotice {
    /// The turn.
    pub turn: u32,
    /// The kind of content that was refused.
    pub content: RefusedKind,
    /// The number of messages from which it is left out.
    pub messages: usize,
    /// The provider's message.
    pub reason: Text,
}

/// The kind of content that a provider refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusedKind {
    /// The conversation is too long.
    Context,
    /// Pictures and files.
    Media,
    /// The signatures of reasoning.
    Signatures,
}

/// Sent when the beginning of a conversation was summarized; see
/// [`AgentConfig::summarize_at`](crate::config::AgentConfig::summarize_at).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContextSummarizedNotice {
    /// The number of messages that are new in the summary.
    pub messages: usize,
    /// The number of requests that it took.
    pub requests: u32,
    /// The estimated tokens of the next request.
    pub tokens: u64,
    /// The estimated tokens of a request without the summary.
    pub tokens_before: u64,
}

/// Sent when a summary failed; see [`AgentConfig::summarize_at`](crate::config::AgentConfig::summarize_at).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContextSummaryFailedNotice {
    /// The number of requests made for it.
    pub requests: u32,
    /// The message of the error.
    pub error: Text,
}

/// Sent when the model is asked once more, because its last answer was empty, malformed, or not what the schema asks
/// for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnswerAskedAgainNotice {
    /// The turn of that answer.
    pub turn: u32,
    /// The way in which it ended.
    pub ending: Ending,
    /// The fault of that answer.
    pub reason: Text,
}

/// Sent when a run was resumed in the middle of an answer: the answer is requested again, and the content of its events
/// so far is to be dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnswerRestartedNotice {
    /// The turn.
    pub turn: u32,
    /// The number of the attempt that begins.
    pub attempt: u32,
}

/// Sent when a run was resumed in the middle of an answer whose calls had already started: the answer is kept up to the
/// last of these calls, and the content of its events after that is to be dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnswerKeptNotice {
    /// The turn.
    pub turn: u32,
    /// The number of calls that are kept.
    pub calls: usize,
}

/// Sent before the answer that is bound by the schema of the run's input; see
/// [`RunInput::answer`](crate::RunInput::answer). The text of that answer, or the arguments of its only call, is the
/// value: [`PartialAnswer`](crate::PartialAnswer) reads it while it streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnswerTypedNotice {
    /// The turn.
    pub turn: u32,
}

/// Sent after an answer was cut off by the length limit and the model is asked to continue: the next text joins it
/// without a break.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnswerContinuedNotice {
    /// The turn that was cut off.
    pub turn: u32,
    /// The number of times that the answer has been continued.
    pub times: u32,
}

/// Sent when a message was delivered to an active run; see [`Steering`](crate::steering::Steering).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SteeredNotice {
    /// The time at which it was to be delivered.
    pub kind: SteeredKind,
    /// Its text.
    pub text: String,
}

/// The time at which a message to an active run is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SteeredKind {
    /// Before the next request.
    Steer,
    /// After the answer.
    FollowUp,
}

/// Sent when the node of a service that ran the run has died, and another one goes on. It precedes the events that the other node sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunTakenOverNotice {
    /// The number of nodes that died with the run, since it was last handed over.
    pub takeovers: u32,
}

impl RunTakenOverNotice {
    /// Returns the notice of a run with which this number of nodes have died.
    #[must_use]
    pub fn new(takeovers: u32) -> Self {
        Self { takeovers }
    }
}

/// Sent for messages that a run could no longer deliver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UndeliveredNotice {
    /// Their texts.
    pub texts: Vec<String>,
}

/// Sent once for a limit of a run's budget that cannot be measured: the provider reports no tokens, or the model has no
/// price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BudgetUnmeasuredNotice {
    /// The limit.
    pub limit: Limit,
}

/// The report of a source about its tools at the beginning of a run, such as that some of them are gone; see
/// [`ToolSource::notices`](crate::tools::ToolSource::notices).
///
/// # Examples
///
/// ```
/// use forgeline::agent::notice::ToolSourceNotice;
///
/// let notice = ToolSourceNotice::new("mcp_server_late").field("server", "notes").field("reason", "no answer");
/// assert_eq!(notice.text("server"), Some("notes"));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolSourceNotice {
    /// The kind, which the source defines.
    pub kind: Text,
    /// The other fields, which the source defines.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl ToolSourceNotice {
    /// Returns a notice without further fields.
    #[must_use]
    pub fn new(kind: impl Into<Text>) -> Self {
        Self { kind: kind.into(), fields: Map::new() }
    }

    /// Adds a field.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(name.into(), value.into());
        self
    }

    /// Returns a field that is a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Value::as_str)
    }
}
