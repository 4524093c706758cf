//! A complete answer.

use serde::{Deserialize, Serialize};

use super::{
    AgentError, FinishReason, Json, Message, MessageRole, Part, Text, ToolCall, UsageInfo,
};

/// A complete answer: the content of its events, and how it ended.
///
/// After a failure it holds the part that had arrived.
///
/// # Examples
///
/// ```
/// use forgeline::types::{Completion, Part};
///
/// let mut completion = Completion::default();
/// completion.text = "Hello".to_owned();
/// let message = completion.into_message();
/// assert_eq!(message.parts, [Part::text("Hello")]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Completion {
    /// The content in order, including what the provider needs back in the next request: signatures of
    /// reasoning and items of its own. Empty when the parts are not needed, as in an agent, which keeps the
    /// conversation itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The message content, joined.
    pub text: String,
    /// The thinking content, joined.
    pub thinking: String,
    /// The message content that the provider marked as a refusal, joined.
    pub refusal: String,
    /// The calls in order, including those that were truncated or malformed.
    pub tool_calls: Vec<ToolCall>,
    /// The role of the author, if the provider reported one.
    #[serde(skip_serializing)]
    pub role: Option<MessageRole>,
    /// The reason why the model stopped, in the common vocabulary.
    pub finish_reason: Option<FinishReason>,
    /// The tokens used.
    pub usage: Option<UsageInfo>,
    /// The vendor's own name for the finish reason.
    pub finish_reason_raw: Option<Text>,
    /// The vendor's usage object.
    pub usage_raw: Option<Json>,
    /// The error object that the vendor sent in the stream.
    pub error_raw: Option<Json>,
    /// The model that answered, as the server names it.
    pub model: Option<Text>,
    /// The server's id of the response.
    pub response_id: Option<Text>,
    /// `true` if the protocol's terminal marker was seen.
    pub complete: bool,
    /// Bytes sent as message before a closing tag showed that they were reasoning.
    pub late_thinking_bytes: u64,
    /// Opening markers of tool calls that were ignored inside a code span or fence.
    pub fenced_calls: u32,
    /// The failure, if there was one.
    pub error: Option<AgentError>,
}

impl Completion {
    /// Converts the answer into a message for the next request.
    #[must_use]
    pub fn into_message(self) -> Message {
        if !self.parts.is_empty() {
            return Message::new(MessageRole::Assistant, self.parts);
        }
        let mut parts = Vec::new();
        if !self.thinking.is_empty() {
            parts.push(Part::Thinking { text: self.thinking, signature: None });
        }
        if !self.text.is_empty() {
            parts.push(Part::Text { text: self.text });
        }
        parts.extend(self.tool_calls.into_iter().map(Part::ToolCall));
        Message::new(MessageRole::Assistant, parts)
    }
}
