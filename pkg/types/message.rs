//! The messages of a conversation.

use serde::{Deserialize, Serialize};

use super::{
    ItemKind, ProviderItem, Signature, Text, TextOrigin, ToolCall, spelling::keep_spelling,
};

/// The author of a message.
///
/// # Examples
///
/// ```
/// use forgeline::types::MessageRole;
///
/// assert_eq!(serde_json::to_string(&MessageRole::Assistant)?, r#""assistant""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessageRole {
    /// Standing instructions.
    System,
    /// The user, or a program acting as one.
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
    /// The author.
    pub role: MessageRole,
    /// The content, in order.
    pub parts: Vec<Part>,
}

/// One part of a message.
///
/// # Examples
///
/// ```
/// use forgeline::types::Part;
///
/// let part = Part::text("Hi");
/// assert_eq!(part.as_text(), Some("Hi"));
/// assert_eq!(serde_json::to_string(&part)?, r#"{"type":"text","text":"Hi"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Text.
    #[non_exhaustive]
    Text {
        /// The text.
        text: String,
    },
    /// Reasoning of the model.
    #[non_exhaustive]
    Thinking {
        /// The reasoning; it may be empty if only the signature was sent.
        text: String,
        /// The provider's signature of the reasoning, to be sent back to that provider unchanged.
        signature: Option<Signature>,
    },
    /// The text that the model wrote around reasoning: markers, and whitespace that belongs to them. It is kept where calls are
    /// text, and sent only together with the reasoning.
    #[non_exhaustive]
    Framing {
        /// The text, as written.
        text: String,
    },
    /// A call that the model made.
    ToolCall(ToolCall),
    /// The result of a call.
    ToolResult(ToolResult),
    /// Something that only one provider understands.
    ProviderItem(ProviderItem),
    /// An image.
    #[non_exhaustive]
    Image {
        /// The media type, such as `image/png`.
        media_type: String,
        /// The bytes in base64, or a URL that starts with `http`.
        data: String,
    },
    /// A document.
    #[non_exhaustive]
    Document {
        /// The media type, such as `application/pdf`.
        media_type: String,
        /// The bytes in base64, or a URL that starts with `http`.
        data: String,
        /// A name by which the model can cite the document.
        name: Option<String>,
    },
}

impl Part {
    /// Creates a part of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Creates a part of reasoning; without a signature, no provider takes it for its own.
    #[must_use]
    pub fn thinking(text: impl Into<String>, signature: impl Into<Option<Signature>>) -> Self {
        Self::Thinking { text: text.into(), signature: signature.into() }
    }

    /// Creates a part of the text around reasoning.
    #[must_use]
    pub fn framing(text: impl Into<String>) -> Self {
        Self::Framing { text: text.into() }
    }

    /// Creates an image from a media type and the bytes in base64, or a URL that starts with `http`.
    #[must_use]
    pub fn image(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self::Image { media_type: media_type.into(), data: data.into() }
    }

    /// Creates a document from a media type, the bytes in base64 or a URL, and a name by which the model can cite it.
    #[must_use]
    pub fn document(
        media_type: impl Into<String>,
        data: impl Into<String>,
        name: impl Into<Option<String>>,
    ) -> Self {
        Self::Document { media_type: media_type.into(), data: data.into(), name: name.into() }
    }
}

keep_spelling!(Part);

impl Part {
    /// Returns `true` if the part contains text from [outside](TextOrigin::Outside); see [`Message::has_outside_text`].
    #[must_use]
    pub fn has_outside_text(&self) -> bool {
        match self {
            Self::ToolResult(result) => result.origin == TextOrigin::Outside,
            Self::ProviderItem(item) => match &item.kind {
                ItemKind::ServerToolResult { .. } => true,
                ItemKind::Citation(citation) => citation.url.is_some(),
                ItemKind::ServerToolCall { .. }
                | ItemKind::Reasoning
                | ItemKind::Media { .. }
                | ItemKind::Other { .. } => false,
            },
            Self::Text { .. }
            | Self::Thinking { .. }
            | Self::Framing { .. }
            | Self::ToolCall(_)
            | Self::Image { .. }
            | Self::Document { .. } => false,
        }
    }

    /// Returns the text of a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text { text } = self { Some(text) } else { None }
    }

    /// Returns the text of a reasoning part.
    #[must_use]
    pub fn as_thinking(&self) -> Option<&str> {
        if let Self::Thinking { text, .. } = self { Some(text) } else { None }
    }

    /// Returns the call of a call part.
    #[must_use]
    pub fn as_tool_call(&self) -> Option<&ToolCall> {
        if let Self::ToolCall(call) = self { Some(call) } else { None }
    }

    /// Returns the result of a result part.
    #[must_use]
    pub fn as_tool_result(&self) -> Option<&ToolResult> {
        if let Self::ToolResult(result) = self { Some(result) } else { None }
    }

    /// Returns the item of a provider item part.
    #[must_use]
    pub fn as_provider_item(&self) -> Option<&ProviderItem> {
        if let Self::ProviderItem(item) = self { Some(item) } else { None }
    }
}

/// The result of one call.
///
/// # Examples
///
/// ```
/// use forgeline::types::ToolResult;
///
/// let result = ToolResult::new("call_0", "read_file", "no such file").error(true);
/// assert!(result.is_error);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: Text,
    /// The tool's name.
    pub name: Text,
    /// The result, or a description of the failure, for the model.
    pub content: String,
    /// `true` if `content` describes a failure.
    pub is_error: bool,
    /// The source of `content`.
    #[serde(default, skip_serializing_if = "TextOrigin::is_own")]
    pub origin: TextOrigin,
    /// The name of the only source of `content` from outside, such as a server; `None` if it may come from anyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Text>,
    /// Images, documents and text that belong to the result, after `content`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The names of the tools that a search found: the model may call them from here on.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub found: Box<[Text]>,
}

impl ToolResult {
    /// Creates the result of a call that succeeded.
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
            origin: TextOrigin::Own,
            source: None,
            parts: Vec::new(),
            found: Box::default(),
        }
    }

    /// Sets [`is_error`](Self::is_error).
    #[must_use]
    pub fn error(mut self, is_error: bool) -> Self {
        self.is_error = is_error;
        self
    }

    /// Sets [`origin`](Self::origin).
    #[must_use]
    pub fn origin(mut self, origin: TextOrigin) -> Self {
        self.origin = origin;
        self
    }

    /// Sets [`source`](Self::source).
    #[must_use]
    pub fn source(mut self, source: Option<Text>) -> Self {
        self.source = source;
        self
    }

    /// Sets [`parts`](Self::parts).
    #[must_use]
    pub fn parts(mut self, parts: Vec<Part>) -> Self {
        self.parts = parts;
        self
    }

    /// Sets [`found`](Self::found).
    #[must_use]
    pub fn found(mut self, names: Box<[Text]>) -> Self {
        self.found = names;
        self
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::user(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::user(text)
    }
}

impl From<&String> for Message {
    fn from(text: &String) -> Self {
        Self::user(text)
    }
}

impl Message {
    /// Creates a message from `parts`.
    #[must_use]
    pub fn new(role: MessageRole, parts: Vec<Part>) -> Self {
        Self { role, parts }
    }

    /// Creates a user's message.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(MessageRole::User, vec![Part::Text { text: text.into() }])
    }

    /// Creates a message of the model.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(MessageRole::Assistant, vec![Part::Text { text: text.into() }])
    }

    /// Returns the text parts joined.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// Iterates over the calls among the parts.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(Part::as_tool_call)
    }

    /// Returns `true` if the message contains text from [outside](TextOrigin::Outside): the result of a tool with that origin or
    /// of a tool that the provider ran, or a citation with a URL.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::types::{Message, MessageRole, Part, TextOrigin, ToolResult};
    ///
    /// let page = ToolResult::new("call_0", "web.fetch", "…").origin(TextOrigin::Outside);
    /// let message = Message::new(MessageRole::Tool, vec![Part::ToolResult(page)]);
    /// assert!(message.has_outside_text() && !Message::user("…").has_outside_text());
    /// ```
    #[must_use]
    pub fn has_outside_text(&self) -> bool {
        self.parts.iter().any(Part::has_outside_text)
    }

    /// Iterates over the tool results among the parts.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(Part::as_tool_result)
    }
}
