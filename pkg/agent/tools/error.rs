//! Why a tool gave no result, and why one could not be registered.

use std::time::Duration;

use crate::types::Text;

/// Why a call gave no result. The model is told, and goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The arguments do not fit the tool.
    #[error("{}{problem}", At(path))]
    InvalidArguments {
        /// Which argument, such as `filter.metric` or `units[1]`; empty for the whole.
        path: Text,
        /// What is wrong with it.
        problem: String,
    },
    /// The tool cannot do this, and would fail again if asked the same.
    #[error("{message}")]
    Failed {
        /// What went wrong, for the model.
        message: String,
    },
    /// The tool failed, but the same call may succeed later.
    #[error("{message}")]
    Transient {
        /// What went wrong, for the model.
        message: String,
    },
    /// The tool did not end in time.
    #[error("no result after {after:?}")]
    TimedOut {
        /// The time in force.
        after: Duration,
    },
    /// The run was cancelled while the tool ran.
    #[error("cancelled{}", if *abandoned { "; the tool did not stop and was abandoned" } else { "" })]
    Cancelled {
        /// Whether the tool ignored the cancellation and was dropped.
        abandoned: bool,
    },
    /// The tool panicked.
    #[error("the tool broke down: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
}

/// The path of an argument, as a prefix of what is wrong with it.
struct At<'a>(&'a str);

impl std::fmt::Display for At<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(formatter, "`{}` ", self.0) }
    }
}

impl ToolError {
    /// The arguments do not fit: `path` is empty for the arguments as a whole.
    #[must_use]
    pub fn invalid(path: impl Into<Text>, problem: impl Into<String>) -> Self {
        Self::InvalidArguments { path: path.into(), problem: problem.into() }
    }

    /// A failure that comes back when the call does.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into() }
    }

    /// A failure that may pass by itself.
    #[must_use]
    pub fn transient(message: impl Into<String>) -> Self {
        Self::Transient { message: message.into() }
    }

    /// Whether the same call may succeed later; the loop guard answers the others itself.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Transient { .. } | Self::TimedOut { .. } | Self::Cancelled { .. } => true,
            Self::InvalidArguments { .. } | Self::Failed { .. } | Self::Panicked { .. } => false,
        }
    }
}

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::failed(message)
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::failed(message)
    }
}

/// Why a tool could not be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Two tools have this name, or names that providers cannot tell apart.
    #[error("the tool name `{name}` is taken; give each tool a name of its own")]
    Duplicate {
        /// The name.
        name: Text,
    },
    /// The name belongs to the agent itself.
    #[error("the tool name `{name}` is reserved; choose another")]
    Reserved {
        /// The name.
        name: Text,
    },
    /// The name holds what providers do not accept.
    #[error(
        "the tool name `{name}` is not valid; use letters, digits, `_` and `-`, at most 64, in \
         parts joined by dots"
    )]
    InvalidName {
        /// The name.
        name: Text,
    },
    /// The schema describes no object.
    #[error("the schema of tool `{name}` must have `\"type\": \"object\"`")]
    InvalidSchema {
        /// The tool's name.
        name: Text,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_one_level_and_names_the_path() {
        #[rustfmt::skip]
        let cases = [
            (ToolError::invalid("units[1]", "must be a string"), "`units[1]` must be a string"),
            (ToolError::invalid("", "must be an object"),        "must be an object"),
            (ToolError::from("no such file"),                    "no such file"),
            (ToolError::Cancelled { abandoned: true },           "cancelled; the tool did not stop and was abandoned"),
            (ToolError::TimedOut { after: Duration::from_secs(5) }, "no result after 5s"),
        ];
        for (error, want) in cases {
            assert_eq!(error.to_string(), want);
        }
    }
}
