//! The types that a function used as a tool may return.

mod any_error;
#[cfg(test)]
mod tests;
mod text_result;

use std::{error::Error, ops::Deref};

use serde::Serialize;

use super::{ToolError, ToolOutput};
use any_error::AnyError;

/// The return type of a function that is to be a tool.
///
/// | returned | the model reads |
/// | --- | --- |
/// | a string | the string |
/// | any other value that implements [`Serialize`] | compact JSON |
/// | `()`, `None`, an empty string | that it is done |
/// | a [`ToolOutput`] | what it says |
/// | `Ok` | as above |
/// | `Err` of a string, an [`Error`], `Box<dyn Error>`, or the error of `anyhow` or `eyre` | the error with its causes |
///
/// A [`ToolError`] stays what it is, also as a cause; every other error is [`ToolError::Failed`].
///
/// `Kind` is inferred. An error that implements both [`Error`] and [`Serialize`] leaves it open: convert
/// such an error by [`ToolError::from_error`].
///
/// # Examples
///
/// ```
/// use forgeline::agent::tools::IntoToolResult as _;
///
/// assert_eq!(21.5.into_tool_result()?.content, "21.5");
/// assert_eq!("as it is".into_tool_result()?.content, "as it is");
/// let lines: Result<Vec<u32>, std::num::ParseIntError> = "1 x".split(' ').map(str::parse).collect();
/// assert_eq!(lines.into_tool_result().unwrap_err().to_string(), "invalid digit found in string");
/// # Ok::<(), forgeline::agent::tools::ToolError>(())
/// ```
///
/// A value that cannot be written is refused, with what to do:
///
/// ```compile_fail,E0277
/// use forgeline::agent::tools::tool_fn;
///
/// struct Opaque;
///
/// let tool = tool_fn("f", "Does something.", async |_, (): ()| Opaque);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "the model cannot read this",
    note = "return a string, a `ToolOutput`, a value that implements `serde::Serialize`, or a `Result` of one",
    note = "the error of a `Result` must be a string, implement `std::error::Error`, or be a `Box<dyn Error>`"
)]
pub trait IntoToolResult<Kind> {
    /// Converts the value into the result of a tool.
    ///
    /// # Errors
    ///
    /// Returns the error of the function, or [`ToolError::Failed`] for a value that JSON cannot represent.
    fn into_tool_result(self) -> Result<ToolOutput, ToolError>;
}

/// The kinds of return types, which keep their implementations apart.
#[doc(hidden)]
pub mod kind {
    use std::marker::PhantomData;

    /// A value that can be converted to text, or a `Result` of two such values.
    #[derive(Debug)]
    pub struct Value;
    /// A complete result.
    #[derive(Debug)]
    pub struct Output;
    /// A complete result, or text.
    #[derive(Debug)]
    pub struct OutputOrWords;
    /// A value of a kind, or an error.
    #[derive(Debug)]
    pub struct OrError<Kind>(PhantomData<Kind>);
    /// A value of a kind, or an error of any type.
    #[derive(Debug)]
    pub struct OrAnyError<Kind>(PhantomData<Kind>);
}

impl<T: Serialize> IntoToolResult<kind::Value> for T {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        text_result::written(&self).map(ToolOutput::new)
    }
}

impl IntoToolResult<kind::Output> for ToolOutput {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

impl<E: Serialize> IntoToolResult<kind::OutputOrWords> for Result<ToolOutput, E> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.or_else(|words| Err(ToolError::failed(text_result::written(&words)?)))
    }
}

impl<T, E, Kind> IntoToolResult<kind::OrError<Kind>> for Result<T, E>
where
    T: IntoToolResult<Kind>,
    E: Error + 'static,
{
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.map_err(ToolError::from_error)?.into_tool_result()
    }
}

impl<T, E, Kind> IntoToolResult<kind::OrAnyError<Kind>> for Result<T, E>
where
    T: IntoToolResult<Kind>,
    E: Deref<Target: AnyError>,
{
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.map_err(|error| any_error::tool_error_of(error.as_error()))?.into_tool_result()
    }
}
