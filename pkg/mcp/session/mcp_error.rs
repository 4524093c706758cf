//! Errors of MCP servers.

use std::time::Duration;

use crate::output::last_words::{LastWords, last_words_note};
use forgeline_types::Text;

/// An error of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The program cannot be started.
    #[error("the MCP server `{server}` cannot be started: {reason}; check `command` and `cwd`")]
    #[non_exhaustive]
    NotStarted {
        /// The name of the server.
        server: Text,
        /// The reason given by the system.
        reason: String,
    },
    /// The server did not answer in time.
    #[error(
        "the MCP server `{server}` did not answer `{request}` within {after:?}; raise its `timeout`, or check the server{}",
        last_words_note(said)
    )]
    #[non_exhaustive]
    TimedOut {
        /// The name of the server.
        server: Text,
        /// The request, such as `initialize` or `tools/list`.
        request: &'static str,
        /// The time limit.
        after: Duration,
        /// The end of the process's standard error, without secrets: text from outside, at most 8 KiB.
        said: String,
    },
    /// The server ended, or closed its output.
    #[error(
        "the MCP server `{server}` has ended; it is started again when it is needed{}",
        last_words_note(said)
    )]
    #[non_exhaustive]
    Ended {
        /// The name of the server.
        server: Text,
        /// The end of the process's standard error, without secrets: text from outside, at most 8 KiB.
        said: String,
    },
    /// The server requires a login, and there is none.
    #[error("the MCP server `{server}` denies access: {reason}; check its login or token")]
    #[non_exhaustive]
    NoAccess {
        /// The name of the server.
        server: Text,
        /// The reason, without tokens and other secrets.
        reason: String,
    },
    /// The server responded with an error, or in violation of the protocol.
    #[error("the MCP server `{server}` failed: {message}; check the server")]
    #[non_exhaustive]
    Failed {
        /// The name of the server.
        server: Text,
        /// The message of the server, at most 500 characters.
        message: String,
    },
    /// The server wrote a line that is too long while a call was waiting; it may have been the response.
    #[error(
        "the MCP server `{server}` wrote a line of more than {limit} bytes, and the call ended without its result; ask for less"
    )]
    #[non_exhaustive]
    LineTooLong {
        /// The name of the server.
        server: Text,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The server wrote an answer that cannot be read while a call was waiting; it may have been the response.
    #[error(
        "the MCP server `{server}` wrote an answer that cannot be read and does not say to which call it belongs; the call ended without its result; check what it did before you call again"
    )]
    #[non_exhaustive]
    Unreadable {
        /// The name of the server.
        server: Text,
    },
    /// The server returned a prompt or a resource that is too large.
    #[error("the MCP server `{server}` gave more than {limit} bytes; ask for a smaller part")]
    #[non_exhaustive]
    TooLarge {
        /// The name of the server.
        server: Text,
        /// The limit, in bytes.
        limit: usize,
    },
    /// There is no such server.
    #[error("there is no MCP server `{server}`; expected one of: {known}")]
    #[non_exhaustive]
    Unknown {
        /// The requested name.
        server: Text,
        /// The names of the existing servers.
        known: String,
    },
    /// The server lists more prompts or resources than allowed.
    #[error("the MCP server `{server}` lists more than {limit} {what}; let it offer fewer")]
    #[non_exhaustive]
    TooMany {
        /// The name of the server.
        server: Text,
        /// The kind of items that it lists.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The server lists more tools than allowed.
    #[error(
        "the MCP server `{server}` lists more than {limit} tools; let it offer fewer, or name those that are wanted in `includeTools`"
    )]
    #[non_exhaustive]
    TooManyTools {
        /// The name of the server.
        server: Text,
        /// The limit.
        limit: usize,
    },
}

impl McpError {
    /// Adds the last output of the process to an error that has a field for it.
    pub(crate) fn with_words(mut self, words: &LastWords) -> Self {
        if let Self::TimedOut { said, .. } | Self::Ended { said, .. } = &mut self {
            *said = words.text();
        }
        self
    }
}
