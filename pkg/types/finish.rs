//! Why a model stopped.

use serde::{Deserialize, Serialize};

use super::Text;

/// Why the model stopped writing, in one vocabulary for all providers.
///
/// It maps the vendor's word alone; whether the answer holds tool calls is told by the calls. The
/// word itself is kept in [`Completion::finish_reason_raw`](super::Completion::finish_reason_raw).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(from = "Text", into = "Text")]
pub enum FinishReason {
    /// The answer is whole.
    Stop,
    /// A token limit cut the answer.
    Length,
    /// The model waits for the results of its tool calls.
    ToolCalls,
    /// A content filter cut the answer.
    ContentFilter,
    /// The model declined to answer.
    Refusal,
    /// The provider paused; sending the conversation again continues it.
    Pause,
    /// The conversation no longer fits the model's context.
    ContextExceeded,
    /// A word of the vendor's that has no counterpart here.
    Other(Text),
}

impl FinishReason {
    /// The name on the wire, such as `tool_calls`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Refusal => "refusal",
            Self::Pause => "pause",
            Self::ContextExceeded => "context_exceeded",
            Self::Other(word) => word,
        }
    }
}

impl From<Text> for FinishReason {
    fn from(word: Text) -> Self {
        match word.as_str() {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "tool_calls" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            "refusal" => Self::Refusal,
            "pause" => Self::Pause,
            "context_exceeded" => Self::ContextExceeded,
            _ => Self::Other(word),
        }
    }
}

impl From<FinishReason> for Text {
    fn from(reason: FinishReason) -> Self {
        match reason {
            FinishReason::Other(word) => word,
            FinishReason::Stop
            | FinishReason::Length
            | FinishReason::ToolCalls
            | FinishReason::ContentFilter
            | FinishReason::Refusal
            | FinishReason::Pause
            | FinishReason::ContextExceeded => Self::from(reason.as_str()),
        }
    }
}
