//! The messages of a conversation.

use serde::{Deserialize, Serialize};

use super::{ProviderItem, Signature, Text, ToolCall};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// Standing instructions.
    System,
    /// The user, or what stands for one.
    User,
    /// The model.
    Assistant,
    /// Results of native tool calls.
    Tool,
}

/// One message: a role and parts in order.
///
/// # Examples
///
/// ```
/// use forgeline::types::{Message, MessageRole};
///
/// let message = Message::user("What is 6 × 7?");
/// assert_eq!(message.role, MessageRole::User);
/// assert_eq!(message.text(), "What is 6 × 7?");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Message {
    /// Who speaks.
    pub role: MessageRole,
    /// What is said, in order.
    pub parts: Vec<Part>,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// Reasoning of the model.
    Thinking {
        /// The reasoning; may be empty when only the signature was sent.
        text: String,
        /// The provider's proof of it, to be sent back to that provider unchanged.
        signature: Option<Signature>,
    },
    /// A call that the model made.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
    /// Something of a provider's own, for it alone.
    ProviderItem(ProviderItem),
    /// A picture.
    Image {
        /// Such as `image/png`.
        media_type: String,
        /// The bytes in base64, or a URL that starts with `http`.
        data: String,
    },
    /// A document.
    Document {
        /// Such as `application/pdf`.
        media_type: String,
        /// The bytes in base64, or a URL that starts with `http`.
        data: String,
        /// A name for the model to cite.
        name: Option<String>,
    },
}

/// What a tool answered to one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call that this answers.
    pub call_id: Text,
    /// The tool's name.
    pub name: Text,
    /// The answer, or what went wrong, for the model.
    pub content: String,
    /// Whether `content` tells of a failure.
    pub is_error: bool,
}

impl ToolResult {
    /// The answer of a call that went well.
    #[must_use]
    pub fn new(
        call_id: impl Into<Text>,
        name: impl Into<Text>,
        content: impl Into<String>,
    ) -> Self {
        Self {
            call_id: call_id.into(),
            name: name.into(),
            content: content.into(),
            is_error: false,
        }
    }

    /// Sets [`is_error`](Self::is_error).
    #[must_use]
    pub fn error(mut self, is_error: bool) -> Self {
        self.is_error = is_error;
        self
    }
}

impl Message {
    /// A message with these parts.
    #[must_use]
    pub fn new(role: MessageRole, parts: Vec<Part>) -> Self {
        Self { role, parts }
    }

    /// What a user says.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(MessageRole::User, vec![Part::Text { text: text.into() }])
    }

    /// What the model said.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(MessageRole::Assistant, vec![Part::Text { text: text.into() }])
    }

    /// The text parts joined.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            Part::Thinking { .. }
            | Part::ToolCall(_)
            | Part::ProviderItem(_)
            | Part::ToolResult(_)
            | Part::Image { .. }
            | Part::Document { .. } => None,
        });
        texts.collect()
    }

    /// The calls among the parts.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            Part::Text { .. }
            | Part::Thinking { .. }
            | Part::ToolResult(_)
            | Part::ProviderItem(_)
            | Part::Image { .. }
            | Part::Document { .. } => None,
        })
    }

    /// The tool results among the parts.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            Part::Text { .. }
            | Part::Thinking { .. }
            | Part::ToolCall(_)
            | Part::ProviderItem(_)
            | Part::Image { .. }
            | Part::Document { .. } => None,
        })
    }
}
