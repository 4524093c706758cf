//! The questions that running tools ask the user, and the answers.

use serde::{Deserialize, Serialize};

use super::{Json, Text, setters, spelling::keep_spelling};

/// A question that a running tool asks the user: a form to fill in, or a URL to open.
///
/// # Examples
///
/// ```
/// use forgeline::types::{Json, ToolQuestion};
///
/// let schema = Json::parse(r#"{"type":"object","properties":{"name":{"type":"string"}}}"#)?;
/// let question = ToolQuestion::new("9c1e", "call_0", "mcp.mail.send", "Who are you?").schema(schema);
/// assert!(question.url.is_none());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct ToolQuestion {
    /// The id to answer with.
    pub question_id: Text,
    /// The id of the call.
    #[serde(rename = "id")]
    pub call_id: Text,
    /// The tool's name.
    pub tool_name: Text,
    /// The question, as worded by the tool or the server after it: text from outside.
    pub message: String,
    /// The form: a JSON schema of an object with plain fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Json>,
    /// The URL for the user to open; it is never opened automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

keep_spelling!(ToolQuestion);

impl ToolQuestion {
    /// Returns a question without a form and without a URL.
    #[must_use]
    pub fn new(
        question_id: impl Into<Text>,
        call_id: impl Into<Text>,
        tool_name: impl Into<Text>,
        message: impl Into<String>,
    ) -> Self {
        let (question_id, call_id, tool_name) =
            (question_id.into(), call_id.into(), tool_name.into());
        Self { question_id, call_id, tool_name, message: message.into(), schema: None, url: None }
    }

    setters! { ToolQuestion: schema(some Json), url(some into String) }
}

/// The answer to a question.
///
/// # Examples
///
/// ```
/// use forgeline::types::ToolAnswer;
///
/// let answer: ToolAnswer = serde_json::from_str(r#"{"action":"accept","content":{"name":"Ann"}}"#)?;
/// assert_ne!(answer, ToolAnswer::Decline);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "action", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum ToolAnswer {
    /// The user answered, or opened the URL.
    #[non_exhaustive]
    Accept {
        /// The fields of the form; omitted ones have their defaults. An empty object for a URL.
        content: Json,
    },
    /// The user declined to answer.
    Decline,
    /// There is no answer: the user left, or could not be asked.
    Cancel,
}

impl ToolAnswer {
    /// Creates the answer with these fields of the form.
    #[must_use]
    pub fn accept(content: Json) -> Self {
        Self::Accept { content }
    }
}

keep_spelling!(ToolAnswer);

/// The way in which a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuestionEnd {
    /// The user answered.
    Accepted,
    /// The user declined to answer.
    Declined,
    /// The call ended, or the user left.
    Cancelled,
    /// No answer came in time.
    Timeout,
}
