//! The result of a tool.

use super::ToolError;
use crate::types::TextOrigin;

/// The result of a tool, for the model to read.
///
/// # Examples
///
/// ```
/// use forgeline::agent::tools::ToolOutput;
/// use serde_json::json;
///
/// assert_eq!(ToolOutput::from(json!({ "celsius": 21 })).content, r#"{"celsius":21}"#);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The text of the result.
    pub content: String,
    /// The place that the text comes from; `None` for that of the tool.
    pub origin: Option<TextOrigin>,
}

impl ToolOutput {
    /// Returns a result of this text.
    #[must_use]
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: content.into(), origin: None }
    }

    /// Sets the place that the text comes from, where it is not that of all results of the tool.
    #[must_use]
    pub fn origin(mut self, origin: TextOrigin) -> Self {
        self.origin = Some(origin);
        self
    }
}

impl From<String> for ToolOutput {
    fn from(content: String) -> Self {
        Self::new(content)
    }
}

impl From<&str> for ToolOutput {
    fn from(content: &str) -> Self {
        Self::new(content)
    }
}

impl From<serde_json::Value> for ToolOutput {
    /// Writes the value as compact JSON.
    fn from(value: serde_json::Value) -> Self {
        Self::new(value.to_string())
    }
}

/// The return type of a function that is to be a tool: a [`ToolOutput`], a string, a JSON value, or
/// a `Result` of those.
pub trait IntoToolResult {
    /// Converts the value into the result of a tool.
    ///
    /// # Errors
    ///
    /// The error that the function returned.
    fn into_tool_result(self) -> Result<ToolOutput, ToolError>;
}

impl<T: Into<ToolOutput>> IntoToolResult for T {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(self.into())
    }
}

impl<T: Into<ToolOutput>, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.map(Into::into).map_err(Into::into)
    }
}
