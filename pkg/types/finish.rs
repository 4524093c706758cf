//! The reasons why a model stops.

use serde::{Deserialize, Serialize};

use super::Text;

/// The reason why the model stopped, in one vocabulary for all providers.
///
/// It reflects the vendor's value alone; whether the answer has calls is shown by the calls. The value itself is
/// kept in [`Completion::finish_reason_raw`](super::Completion::finish_reason_raw).
///
/// # Examples
///
/// ```
/// use forgeline::types::{FinishReason, Text};
///
/// assert_eq!(FinishReason::from(Text::from("tool_calls")), FinishReason::ToolCalls);
/// assert_eq!(FinishReason::Other("eos".into()).as_str(), "eos");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Text", into = "Text")]
#[non_exhaustive]
pub enum FinishReason {
    /// The answer is complete.
    Stop,
    /// The answer was truncated by a token limit.
    Length,
    /// The model waits for the results of its tool calls.
    ToolCalls,
    /// The answer was truncated by a content filter.
    ContentFilter,
    /// The model declined to answer.
    Refusal,
    /// The provider could not read what the model wrote, such as a call with broken arguments.
    Malformed,
    /// The provider paused; sending the conversation again continues it.
    Pause,
    /// The conversation no longer fits the model's context.
    ContextExceeded,
    /// The answer was truncated because its text repeated itself.
    Repetition,
    /// The answer was cut off because the user had something else to say.
    Interrupted,
    /// A vendor's value without a counterpart here.
    Other(Text),
}

/// Declares the names on the wire once, for both directions.
macro_rules! names {
    ($($reason:ident = $name:literal,)+) => {
        impl FinishReason {
            /// Returns the name on the wire, such as `tool_calls`.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$reason => $name,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<Text> for FinishReason {
            fn from(word: Text) -> Self {
                match word.as_str() {
                    $($name => Self::$reason,)+
                    _ => Self::Other(word),
                }
            }
        }
    };
}

names! {
    Stop = "stop",
    Length = "length",
    ToolCalls = "tool_calls",
    ContentFilter = "content_filter",
    Refusal = "refusal",
    Malformed = "malformed",
    Pause = "pause",
    ContextExceeded = "context_exceeded",
    Repetition = "repetition",
    Interrupted = "interrupted",
}

impl FinishReason {
    /// Returns `true` if a token limit truncated the answer.
    #[doc(hidden)]
    pub const fn is_limit(&self) -> bool {
        matches!(self, Self::Length | Self::ContextExceeded)
    }

    /// Returns `true` if the model did not finish its answer: anything still open is truncated.
    #[doc(hidden)]
    pub const fn truncates(&self) -> bool {
        let is_cut = matches!(self, Self::Repetition | Self::Interrupted);
        let is_withheld = matches!(self, Self::ContentFilter | Self::Refusal | Self::Malformed);
        is_cut || self.is_limit() || is_withheld
    }
}

impl From<FinishReason> for Text {
    fn from(reason: FinishReason) -> Self {
        if let FinishReason::Other(word) = reason { word } else { Self::from(reason.as_str()) }
    }
}
