//! Errors of MCP servers and of their configuration.

use std::time::Duration;

use super::last_words::{LastWords, shown};
use crate::types::Text;

/// The error of a configuration: the member that is wrong, and what was expected.
///
/// # Examples
///
/// ```
/// use forgeline::agent::mcp::McpConfig;
///
/// let config = McpConfig::parse(r#"{"mcpServers":{"files":{"comand":"ls"}}}"#)?;
/// assert_eq!(config.warnings[0].member, "mcpServers.files.comand");
/// assert_eq!(config.refused[0].member, "mcpServers.files.command");
/// # Ok::<(), forgeline::agent::mcp::McpConfigError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{member}` {problem}")]
#[non_exhaustive]
pub struct McpConfigError {
    /// The path of the member, such as `mcpServers.files.command`.
    pub member: String,
    /// The problem, and what was expected. It never has a value of `env`.
    pub problem: String,
}

/// The error of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The program cannot be started.
    #[error("the MCP server `{server}` cannot be started: {reason}; check `command` and `cwd`")]
    NotStarted {
        /// The name of the server.
        server: Text,
        /// The reason of the system.
        reason: String,
    },
    /// The server did not answer in time.
    #[error("the MCP server `{server}` did not answer `{request}` within {after:?}{}", shown(said))]
    TimedOut {
        /// The name of the server.
        server: Text,
        /// The request, such as `initialize` or `tools/list`.
        request: &'static str,
        /// The limit that was in force.
        after: Duration,
        /// The end of what the process wrote to its standard error, without secrets: text from outside, at most 8 KiB.
        said: String,
    },
    /// The server ended, or closed its output.
    #[error(
        "the MCP server `{server}` has ended; it is started again with the next run{}",
        shown(said)
    )]
    Ended {
        /// The name of the server.
        server: Text,
        /// The end of what the process wrote to its standard error, without secrets: text from outside, at most 8 KiB.
        said: String,
    },
    /// The server needs a login, and there is none.
    #[error("the MCP server `{server}` denies access: {reason}")]
    NoAccess {
        /// The name of the server.
        server: Text,
        /// The reason, without tokens and other secrets.
        reason: String,
    },
    /// The server answered with an error, or with what the protocol does not have.
    #[error("the MCP server `{server}` failed: {message}")]
    Failed {
        /// The name of the server.
        server: Text,
        /// The message of the server, at most 500 characters.
        message: String,
    },
    /// The server wrote a line that is too long while a call waited: it may have been the answer.
    #[error(
        "the MCP server `{server}` wrote a line of more than {limit} bytes, and the call ended without its result; ask for less"
    )]
    LineTooLong {
        /// The name of the server.
        server: Text,
        /// The limit that was in force.
        limit: usize,
    },
    /// The server gave a prompt or a resource that is too large.
    #[error("the MCP server `{server}` gave more than {limit} bytes; ask for a smaller part")]
    TooLarge {
        /// The name of the server.
        server: Text,
        /// The limit that was in force.
        limit: usize,
    },
    /// There is no such server.
    #[error("there is no MCP server `{server}`; the servers are: {known}")]
    Unknown {
        /// The name that was asked for.
        server: Text,
        /// The names of those there are.
        known: String,
    },
    /// The server lists more prompts or resources than one may have.
    #[error("the MCP server `{server}` lists more than {limit} {what}; let it offer fewer")]
    TooMany {
        /// The name of the server.
        server: Text,
        /// The things that it lists.
        what: &'static str,
        /// The limit that was in force.
        limit: usize,
    },
    /// The server lists more tools than one may have.
    #[error(
        "the MCP server `{server}` lists more than {limit} tools; let it offer fewer, or name those that are wanted in `includeTools`"
    )]
    TooManyTools {
        /// The name of the server.
        server: Text,
        /// The limit that was in force.
        limit: usize,
    },
}

impl McpError {
    /// Adds the last words of the process to an error that has room for them.
    pub(super) fn with_words(mut self, words: &LastWords) -> Self {
        if let Self::TimedOut { said, .. } | Self::Ended { said, .. } = &mut self {
            *said = words.text();
        }
        self
    }
}
