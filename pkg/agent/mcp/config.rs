//! The configuration of servers.

use std::{fmt, path::PathBuf};

use secrecy::SecretString;
use serde_json::Value;

use super::{
    McpConfigError,
    member::{Member, wrong},
    remote::{McpRemote, remote},
};
use crate::types::Text;

/// Most servers of one configuration.
const MAX_SERVERS: usize = 64;

/// Longest name of a server, in bytes.
const MAX_NAME_BYTES: usize = 32;

/// Members of a server.
const MEMBERS: &str = "`type`, `command`, `args`, `env`, `cwd`, `url`, `headers`, `oauth`, `required` or \
     `trustAnnotations`";

/// A configuration of MCP servers, in the form that other clients use.
///
/// `${NAME}` and `${NAME:-default}` in texts are variables of this process. A server that
/// is `required` must work; others are left out and reported. Hints of a server about what its tools change count
/// with `trustAnnotations` only.
///
/// # Examples
///
/// ```
/// use forgeline::agent::mcp::McpConfig;
///
/// let config = McpConfig::parse(
///     r#"{"mcpServers": {"files": {"command": "mcp-files", "args": ["/srv"], "env": {"KEY": "s3cret"}}}}"#,
/// )?;
/// assert_eq!(config.servers[0].name, "files");
/// assert!(!format!("{config:?}").contains("s3cret"));
/// # Ok::<(), forgeline::agent::mcp::McpConfigError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpConfig {
    /// The servers, in the order of the file. Default: none, as a file may have.
    pub servers: Vec<McpServer>,
}

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
}

impl McpConfig {
    /// Reads a configuration, with the variables of this process.
    ///
    /// # Errors
    ///
    /// When a member is wrong, unknown or missing, or a variable is not set; the first such member is named.
    pub fn parse(text: &str) -> Result<Self, McpConfigError> {
        Self::parse_with(text, &|name| std::env::var(name).ok())
    }

    /// Reads a configuration with these variables.
    pub(super) fn parse_with(
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, McpConfigError> {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            // The message of the parser may quote what it met, the place does not.
            let place = format!("is not JSON at line {}, column {}", error.line(), error.column());
            wrong("(file)", place)
        })?;
        let file = Member { path: "(file)".to_owned(), value: &value, variable };
        let mut servers = Vec::new();
        for (name, member) in file.object()? {
            if name != "mcpServers" {
                return Err(wrong(name, "is unknown; expected `mcpServers`"));
            }
            let member = Member { path: name.to_owned(), value: member, variable };
            for (name, value) in member.object()? {
                servers.push(server(name, &member.below(name, value))?);
            }
        }
        if value.get("mcpServers").is_none() {
            return Err(wrong("mcpServers", "is missing; expected an object of servers by name"));
        }
        if servers.len() > MAX_SERVERS {
            let problem = format!("has {} servers; expected at most {MAX_SERVERS}", servers.len());
            return Err(wrong("mcpServers", problem));
        }
        check_names(&servers)?;
        Ok(Self { servers })
    }
}

/// Reads a server.
fn server(name: &str, of: &Member<'_>) -> Result<McpServer, McpConfigError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
        let problem =
            "is not a name of a server; expected letters, digits, `_` and `-`, at most 32";
        return Err(of.wrong(problem));
    }
    let mut server = McpServer {
        name: name.into(),
        command: String::new(),
        arguments: Vec::new(),
        variables: Vec::new(),
        folder: None,
        remote: remote(of)?,
        is_required: false,
        trusts_annotations: false,
    };
    for (name, value) in of.object()? {
        let member = of.below(name, value);
        match name.as_str() {
            "type" | "url" | "headers" | "oauth" => {}
            "required" => server.is_required = member.boolean()?,
            "trustAnnotations" => server.trusts_annotations = member.boolean()?,
            "command" | "args" | "env" | "cwd" if server.remote.is_some() => {
                return Err(member.wrong("is of a process, and the server has a `url`; remove one"));
            }
            "command" => server.command = member.string()?,
            "args" => server.arguments = member.strings()?,
            "env" => server.variables = member.variables()?,
            "cwd" => server.folder = Some(member.string()?.into()),
            _ => return Err(member.wrong(format!("is unknown; expected {MEMBERS}"))),
        }
    }
    if server.remote.is_none() && server.command.trim().is_empty() {
        let command = format!("{}.command", of.path);
        let problem = "is missing or empty; expected the program of the server, or its `url`";
        return Err(wrong(command, problem));
    }
    Ok(server)
}

/// Refuses names of which one could have tools that are called as those of another.
fn check_names(servers: &[McpServer]) -> Result<(), McpConfigError> {
    for server in servers {
        let begins = format!("{}_", server.name);
        if let Some(other) = servers.iter().find(|other| other.name.starts_with(&begins)) {
            let problem = format!(
                "begins with the name of the server `{}` and `_`, so that their tools cannot be told apart; rename one",
                server.name
            );
            return Err(wrong(format!("mcpServers.{}", other.name), problem));
        }
    }
    Ok(())
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
