//! Questions of running tools.

use serde_json::Value;

use forgeline_types::Json;

/// A question to the user; see [`ToolContext::ask`](super::context::ToolContext::ask).
///
/// # Examples
///
/// ```
/// use forgeline::agent::tools::Question;
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
/// let who = Question::form("Who are you?", schema);
/// let sign = Question::url("Sign it there.", "https://example.org/sign/7");
/// assert_ne!(who, sign);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    #[doc(hidden)]
    pub message: String,
    #[doc(hidden)]
    pub schema: Option<Json>,
    #[doc(hidden)]
    pub url: Option<String>,
}

impl Question {
    /// Returns a question with a form: `schema` describes an object with primitive fields.
    #[must_use]
    pub fn form(message: impl Into<String>, schema: Value) -> Self {
        Self { message: message.into(), schema: Some(schema.into()), url: None }
    }

    /// Returns a request to open a URL.
    #[must_use]
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self { message: message.into(), schema: None, url: Some(url.into()) }
    }
}
