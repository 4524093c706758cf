//! A server of a configuration.

use std::{fmt, path::PathBuf, time::Duration};

use secrecy::SecretString;

use super::remote::McpRemote;
use crate::types::Text;

/// A server: a child process, or one that is reached over HTTP.
#[derive(Clone)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "members of a file that have nothing in common")]
pub struct McpServer {
    /// The name, which begins the names of its tools: letters, digits, `_` and `-`, at most 32. Required.
    pub name: Text,
    /// The program. Required, unless the server is [`remote`](Self::remote); then it is empty.
    pub command: String,
    /// The arguments of the program. Default: none.
    pub arguments: Vec<String>,
    /// Variables that the program sees besides `PATH` and a few others. Their values are secrets. Default: none.
    pub variables: Vec<(String, SecretString)>,
    /// The folder in which the program runs. Default: `None`, this process's.
    pub folder: Option<PathBuf>,
    /// The server's address and headers when it is reached over HTTP. Default: `None`, it is a process.
    pub remote: Option<McpRemote>,
    /// `true` when an agent is of no use without the server. Default: `false`.
    pub is_required: bool,
    /// `true` when the server's hints may lower what its tools need approval for. Default: `false`.
    pub trusts_annotations: bool,
    /// The limit of a call, at most an hour, and of the greeting and the list, of which each has at most 30 s.
    /// Default: `None`, those of [`McpOptions`](super::McpOptions) and of the agent.
    pub timeout: Option<Duration>,
    /// The names of the tools that are offered, as the server has them. Default: `None`, all.
    pub included_tools: Option<Vec<String>>,
    /// The names of tools that are not offered, as the server has them. Default: none.
    pub excluded_tools: Vec<String>,
    /// Values of variables in the file, which may be anywhere in its texts.
    pub(super) secrets: Vec<SecretString>,
}

impl fmt::Debug for McpServer {
    /// Writes the server without its arguments and the values of its variables: both may hold secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("McpServer")
            .field("name", &self.name)
            .field("variables", &names)
            .field("remote", &self.remote)
            .field("is_required", &self.is_required)
            .finish_non_exhaustive()
    }
}
