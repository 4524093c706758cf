//! Errors of tools and of their registry.

use std::time::Duration;

use forgeline_types::Text;

/// The error of a call. The model reads it and continues.
///
/// # Examples
///
/// ```
/// use forgeline::agent::tools::ToolError;
///
/// let error = ToolError::invalid("limit", "must be at least 1");
/// assert_eq!(error.to_string(), "`limit` must be at least 1");
/// assert!(ToolError::transient("the database is restarting").is_retryable());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The arguments do not fit the tool.
    #[error("{}{problem}", if path.is_empty() { String::new() } else { format!("`{path}` ") })]
    #[non_exhaustive]
    InvalidArguments {
        /// The path of the argument, such as `filter.metric` or `units[1]`; empty for the arguments as a whole.
        path: Text,
        /// The problem, for the model.
        problem: String,
    },
    /// The tool cannot do this, and the same call would fail again.
    #[error("{message}")]
    #[non_exhaustive]
    Failed {
        /// The message, for the model.
        message: String,
    },
    /// The tool failed, but the same call may succeed later.
    #[error("{message}")]
    #[non_exhaustive]
    Transient {
        /// The message, for the model.
        message: String,
    },
    /// The tool did not end in time.
    #[error("no result after {after:?}; ask for less at a time")]
    #[non_exhaustive]
    TimedOut {
        /// The time limit.
        after: Duration,
    },
    /// The run was cancelled while the tool ran.
    #[error("cancelled{}", if *abandoned { "; the tool did not stop and was abandoned" } else { "" })]
    #[non_exhaustive]
    Cancelled {
        /// `true` if the tool ignored the cancellation and was dropped.
        abandoned: bool,
    },
    /// The tool panicked.
    #[error("the tool panicked: {message}")]
    #[non_exhaustive]
    Panicked {
        /// The panic's message.
        message: String,
    },
}

impl ToolError {
    /// Creates the error of a call that was cancelled; `abandoned` is `true` if the tool did not stop.
    #[must_use]
    pub fn cancelled(abandoned: bool) -> Self {
        Self::Cancelled { abandoned }
    }
}

impl ToolError {
    /// Returns an error about arguments; `path` is empty for the arguments as a whole.
    #[must_use]
    pub fn invalid(path: impl Into<Text>, problem: impl Into<String>) -> Self {
        Self::InvalidArguments { path: path.into(), problem: problem.into() }
    }

    /// Returns an error that the same call would cause again.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into() }
    }

    /// Returns an error that may resolve itself.
    #[must_use]
    pub fn transient(message: impl Into<String>) -> Self {
        Self::Transient { message: message.into() }
    }

    /// Returns `true` if the same call may succeed later; the loop guard does not repeat other calls.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Transient { .. } | Self::TimedOut { .. } | Self::Cancelled { .. })
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

/// The error of registering a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Two tools have this name, or names that providers cannot distinguish.
    #[error("the tool name `{name}` is taken; give each tool a unique name")]
    #[non_exhaustive]
    Duplicate {
        /// The name.
        name: Text,
    },
    /// The name is reserved for the agent itself.
    #[error("the tool name `{name}` is reserved; choose another")]
    #[non_exhaustive]
    Reserved {
        /// The name.
        name: Text,
    },
    /// The name contains characters or parts that providers do not accept.
    #[error(
        "the tool name `{name}` is not valid; use letters, digits, `_` and `-`, at most 64, in \
         parts joined by dots"
    )]
    #[non_exhaustive]
    InvalidName {
        /// The name.
        name: Text,
    },
    /// The schema is malformed. Without feature `schema`, only types, references, and the form of the keywords that hold other
    /// schemas, names or counts are examined.
    #[error("the schema of tool `{name}` is malformed at {member}: {problem}; correct it there")]
    #[non_exhaustive]
    MalformedSchema {
        /// The tool's name.
        name: Text,
        /// The member, such as `#/properties/limit/type`.
        member: Text,
        /// The problem with the member.
        problem: String,
    },
    /// A limit of the tool is zero, so that no call could succeed.
    #[error("`{member}` of tool `{name}` is 0; make it larger, or omit it to use the agent's")]
    #[non_exhaustive]
    ZeroLimit {
        /// The tool's name.
        name: Text,
        /// The member: `timeout` or `max_result_chars`.
        member: &'static str,
    },
    /// A part of the tool's description is too long for requests; detected in lists of MCP servers.
    #[error("the {what} of tool `{name}` has {bytes} bytes; expected at most {limit}")]
    #[non_exhaustive]
    TooLong {
        /// The tool's name.
        name: Text,
        /// The part that is too long, such as `schema`.
        what: &'static str,
        /// Its length, in bytes.
        bytes: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The schema does not describe an object.
    #[error("the schema of tool `{name}` must have `\"type\": \"object\"`")]
    #[non_exhaustive]
    InvalidSchema {
        /// The tool's name.
        name: Text,
    },
}

impl RegistryError {
    /// Creates the error of a tool with a text that is too long.
    #[must_use]
    pub fn too_long(name: impl Into<Text>, what: &'static str, bytes: usize, limit: usize) -> Self {
        Self::TooLong { name: name.into(), what, bytes, limit }
    }
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
            (ToolError::TimedOut { after: Duration::from_secs(5) }, "no result after 5s; ask for less at a time"),
        ];
        for (error, want) in cases {
            assert_eq!(error.to_string(), want);
        }
    }
}
