//! The configuration of servers.

use std::{fmt, path::PathBuf};

use secrecy::SecretString;
use serde_json::{Map, Value};

use super::{McpConfigError, expand::expand};
use crate::types::Text;

/// Most servers of one configuration.
const MAX_SERVERS: usize = 64;

/// Longest name of a server, in bytes.
const MAX_NAME_BYTES: usize = 32;

/// Members of a server.
const MEMBERS: &str = "`type`, `command`, `args`, `env`, `cwd`, `required` or `trustAnnotations`";

/// A configuration of MCP servers, in the form that other clients use.
///
/// `${NAME}` and `${NAME:-default}` in `command`, `args`, `env` and `cwd` are variables of this process. A server that
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

/// A server that runs as a child process.
#[derive(Clone)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "members of a file that have nothing in common")]
pub struct McpServer {
    /// The name, which begins the names of its tools: letters, digits, `_` and `-`, at most 32. Required.
    pub name: Text,
    /// The program. Required.
    pub command: String,
    /// The arguments of the program. Default: none.
    pub arguments: Vec<String>,
    /// Variables that the program sees besides `PATH` and a few others. Their values are secrets. Default: none.
    pub variables: Vec<(String, SecretString)>,
    /// The folder in which the program runs. Default: `None`, this process's.
    pub folder: Option<PathBuf>,
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
                servers.push(member.below(name, value).server(name)?);
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

/// A member of the file and its path.
struct Member<'a> {
    path: String,
    value: &'a Value,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Member<'a> {
    fn below(&self, name: &str, value: &'a Value) -> Self {
        Self { path: format!("{}.{name}", self.path), value, variable: self.variable }
    }

    fn wrong(&self, problem: impl Into<String>) -> McpConfigError {
        wrong(self.path.clone(), problem)
    }

    /// Returns the error of a value of another kind, without the value: it may be a secret.
    fn expected(&self, expected: &str) -> McpConfigError {
        let kind = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        self.wrong(format!("is {kind}; expected {expected}"))
    }

    fn object(&self) -> Result<&'a Map<String, Value>, McpConfigError> {
        self.value.as_object().ok_or_else(|| self.expected("an object"))
    }

    fn boolean(&self) -> Result<bool, McpConfigError> {
        self.value.as_bool().ok_or_else(|| self.expected("`true` or `false`"))
    }

    /// Returns a string with its variables replaced.
    fn string(&self) -> Result<String, McpConfigError> {
        let text = self.value.as_str().ok_or_else(|| self.expected("a string"))?;
        if text.contains('\0') {
            return Err(self.wrong("has a NUL character; remove it"));
        }
        expand(text, self.variable).map_err(|problem| self.wrong(problem))
    }

    fn strings(&self) -> Result<Vec<String>, McpConfigError> {
        let items = self.value.as_array().ok_or_else(|| self.expected("an array of strings"))?;
        let item = |(at, value)| {
            let path = format!("{}[{at}]", self.path);
            Member { path, value, variable: self.variable }.string()
        };
        items.iter().enumerate().map(item).collect()
    }

    fn variables(&self) -> Result<Vec<(String, SecretString)>, McpConfigError> {
        let variable = |(name, value): (&String, &'a Value)| {
            let member = self.below(name, value);
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(member.wrong("is not a name of a variable; expected one without `=`"));
            }
            Ok((name.clone(), SecretString::from(member.string()?)))
        };
        self.object()?.iter().map(variable).collect()
    }

    fn server(&self, name: &str) -> Result<McpServer, McpConfigError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
            let problem =
                "is not a name of a server; expected letters, digits, `_` and `-`, at most 32";
            return Err(self.wrong(problem));
        }
        let mut server = McpServer {
            name: name.into(),
            command: String::new(),
            arguments: Vec::new(),
            variables: Vec::new(),
            folder: None,
            is_required: false,
            trusts_annotations: false,
        };
        for (name, value) in self.object()? {
            let member = self.below(name, value);
            match name.as_str() {
                "type" if value.as_str() == Some("stdio") => {}
                "type" => {
                    return Err(member.wrong("must be `stdio`; no other transport is supported"));
                }
                "url" | "headers" => {
                    return Err(member.wrong(
                        "is of a remote server; only servers with a `command` are supported",
                    ));
                }
                "command" => server.command = member.string()?,
                "args" => server.arguments = member.strings()?,
                "env" => server.variables = member.variables()?,
                "cwd" => server.folder = Some(member.string()?.into()),
                "required" => server.is_required = member.boolean()?,
                "trustAnnotations" => server.trusts_annotations = member.boolean()?,
                _ => return Err(member.wrong(format!("is unknown; expected {MEMBERS}"))),
            }
        }
        if server.command.trim().is_empty() {
            let command = format!("{}.command", self.path);
            return Err(wrong(command, "is missing or empty; expected the program of the server"));
        }
        Ok(server)
    }
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

fn wrong(member: impl Into<String>, problem: impl Into<String>) -> McpConfigError {
    McpConfigError { member: member.into(), problem: problem.into() }
}

impl fmt::Debug for McpServer {
    /// Writes the server without its arguments and the values of its variables: both may hold secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("McpServer")
            .field("name", &self.name)
            .field("variables", &names)
            .field("is_required", &self.is_required)
            .finish_non_exhaustive()
    }
}
