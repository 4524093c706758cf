//! Questions of tools that run.

use serde_json::Value;

use crate::types::Json;

/// A question to the user; see [`ToolContext::ask`](super::ToolContext::ask).
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
    pub(crate) message: String,
    pub(crate) schema: Option<Json>,
    pub(crate) url: Option<String>,
}

impl Question {
    /// Returns the question for the fields of a form: `schema` is one of an object with plain fields.
    #[must_use]
    pub fn form(message: impl Into<String>, schema: Value) -> Self {
        Self { message: message.into(), schema: Some(schema.into()), url: None }
    }

    /// Returns the request to open an address.
    #[must_use]
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self { message: message.into(), schema: None, url: Some(url.into()) }
    }
}
