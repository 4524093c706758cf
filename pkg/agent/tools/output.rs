//! What a tool answers.

use super::ToolError;

/// What a tool answers, for the model to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The text of the answer.
    pub content: String,
}

impl ToolOutput {
    /// An answer of this text.
    #[must_use]
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: content.into() }
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
    /// The value as compact JSON.
    fn from(value: serde_json::Value) -> Self {
        Self::new(value.to_string())
    }
}

/// What a function may return to be a tool: an output, a string, a JSON value, or a `Result` of
/// those.
pub trait IntoToolResult {
    /// The same as a tool's answer.
    ///
    /// # Errors
    ///
    /// The error that the function returned.
    fn into_tool_result(self) -> Result<ToolOutput, ToolError>;
}

impl IntoToolResult for ToolOutput {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(self.into())
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(self.into())
    }
}

impl IntoToolResult for serde_json::Value {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(self.into())
    }
}

impl<T: Into<ToolOutput>, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.map(Into::into).map_err(Into::into)
    }
}
