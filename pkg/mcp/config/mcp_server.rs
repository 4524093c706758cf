//! A server of a configuration.

use std::{fmt, path::PathBuf, time::Duration};

use forgeline_llm::http::Secret;

use super::remote_settings::McpRemote;
use forgeline_types::Text;

/// An MCP server: a child process, or one that is reached over HTTP.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent members of a file")]
#[non_exhaustive]
pub struct McpServer {
    /// The name, which is the prefix of the names of its tools: letters, digits, `_` and `-`, at most 32. Required.
    pub name: Text,
    /// The program. Required, unless the server is [`remote`](Self::remote); then it is empty.
    pub command: String,
    /// The arguments of the program. Default: none.
    pub arguments: Vec<String>,
    /// Environment variables of the program besides `PATH` and a few others. Their values are secrets. Default: none.
    pub variables: Vec<(String, Secret)>,
    /// The working folder of the program. Default: `None`, that of this process.
    pub folder: Option<PathBuf>,
    /// The server's URL and headers if it is reached over HTTP. Default: `None`, it is a process.
    pub remote: Option<McpRemote>,
    /// `true` if an agent is useless without the server. Default: `false`.
    pub is_required: bool,
    /// `true` if the server's hints may lower the approval requirements of its tools. Default: `false`.
    pub trusts_annotations: bool,
    /// `false` if what the server writes about the use of its tools is left out. Default: `true`.
    pub passes_instructions: bool,
    /// The time limit of a call, at most an hour, and of the handshake and the list, each at most 30 s. Default: `None`, those of
    /// [`McpOptions`](crate::McpOptions) and of the agent.
    pub timeout: Option<Duration>,
    /// The names of the tools to offer, as the server defines them. Default: `None`, all.
    pub included_tools: Option<Vec<String>>,
    /// The names of tools not to offer, as the server defines them. Default: none.
    pub excluded_tools: Vec<String>,
    /// Values of variables in the file, which may occur anywhere in its texts.
    pub(crate) secrets: Vec<Secret>,
}

impl fmt::Debug for McpServer {
    /// Formats the server without its arguments and the values of its variables, since both may contain secrets.
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
