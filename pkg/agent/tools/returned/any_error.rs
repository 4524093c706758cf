//! Conversion of any error into a tool error.

use std::{convert::Infallible, error::Error, fmt, io, num, str, string};

use crate::tools::ToolError;
use forgeline_types::AgentError;

/// An error of unknown type: the target of a boxed error.
pub trait AnyError {
    /// Returns the error.
    fn as_error(&self) -> &(dyn Error + 'static);
}

impl AnyError for dyn Error + 'static {
    fn as_error(&self) -> &(dyn Error + 'static) {
        self
    }
}

impl AnyError for dyn Error + Send + 'static {
    fn as_error(&self) -> &(dyn Error + 'static) {
        self
    }
}

impl AnyError for dyn Error + Send + Sync + 'static {
    fn as_error(&self) -> &(dyn Error + 'static) {
        self
    }
}

impl ToolError {
    /// Returns the tool error for `error`: the [`ToolError`] that it is or was caused by, else one that [failed](Self::Failed) with its message and its
    /// causes.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::agent::tools::ToolError;
    ///
    /// let error = std::io::Error::other(ToolError::transient("the disk is busy"));
    /// assert!(ToolError::from_error(error).is_retryable());
    /// ```
    #[must_use]
    pub fn from_error(error: impl Error + 'static) -> Self {
        tool_error_of(&error)
    }
}

/// Returns the tool error for this error.
pub(super) fn tool_error_of(error: &(dyn Error + 'static)) -> ToolError {
    let mut message = error.to_string();
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(own) = error.downcast_ref::<ToolError>() {
            return own.clone();
        }
        let text = error.to_string();
        // Some messages already contain their cause.
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        // An I/O error hides the error that it wraps.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = inner.map_or_else(|| error.source(), |inner| Some(inner));
    }
    ToolError::Failed { message }
}

impl From<Box<dyn Error + Send + Sync>> for ToolError {
    fn from(error: Box<dyn Error + Send + Sync>) -> Self {
        tool_error_of(&*error)
    }
}

impl From<Box<dyn Error>> for ToolError {
    fn from(error: Box<dyn Error>) -> Self {
        tool_error_of(&*error)
    }
}

/// Lets `?` convert errors of the standard library and of JSON into a tool error.
macro_rules! from_errors {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for ToolError {
            fn from(error: $error) -> Self {
                tool_error_of(&error)
            }
        })+
    };
}

from_errors!(
    AgentError,
    Infallible,
    fmt::Error,
    io::Error,
    num::ParseFloatError,
    num::ParseIntError,
    num::TryFromIntError,
    serde_json::Error,
    str::ParseBoolError,
    str::Utf8Error,
    string::FromUtf8Error,
);
