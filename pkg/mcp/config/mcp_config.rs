//! The configuration of servers.

use std::{cell::RefCell, env};

use forgeline_llm::http::Secret;
use serde_json::Value;

use super::{
    comments::without_comments,
    config_error::McpConfigError,
    config_member::{ConfigMember, wrong},
    expand::is_place,
    mcp_server::McpServer,
    server_members::{ServerEntry, parse_server},
};
use forgeline_types::Text;

/// Maximum number of servers in one configuration.
const MAX_SERVERS: usize = 64;

/// The members that contain servers: those of most clients, of VS Code, and of Zed.
const HOLDERS: [&str; 3] = ["mcpServers", "servers", "context_servers"];

/// A configuration of MCP servers, in the form that other clients use.
///
/// In texts, `${NAME}` and `${NAME:-default}` are variables of this process; `${env:NAME}`, `${userHome}` and `${workspaceFolder}` have the same meaning
/// as in editors. A server that is `required` must work; others are left out and reported. Hints of a server about the effects of its tools count only
/// with `trustAnnotations`.
///
/// A server with a member that has a wrong value is [`refused`](Self::refused), and the others work. An unknown member has no effect and is one of the
/// [`warnings`](Self::warnings). Comments in the file are skipped.
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
    /// The servers, in the order of the file. Default: none, which is valid.
    pub servers: Vec<McpServer>,
    /// The errors of servers that are left out because of a wrong member. Default: none.
    pub refused: Vec<McpConfigError>,
    /// The members that have no effect, each with the reason. Default: none.
    pub warnings: Vec<McpConfigError>,
    /// The names of servers that the file disables. Default: none.
    pub disabled: Vec<Text>,
}

impl McpConfig {
    /// Parses a configuration, with the variables of this process.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not JSON, contains no servers, or a `required` server has a wrong member; the error names the first such member.
    /// Errors of other servers are in [`refused`](Self::refused).
    pub fn parse(text: &str) -> Result<Self, McpConfigError> {
        Self::parse_with(text, &|name| match name {
            "userHome" => env::home_dir()?.into_os_string().into_string().ok(),
            "workspaceFolder" => env::current_dir().ok()?.into_os_string().into_string().ok(),
            name => env::var(name).ok(),
        })
    }

    /// Parses a configuration, with these variables.
    pub(crate) fn parse_with(
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, McpConfigError> {
        let read = serde_json::from_str(text);
        let value: Value =
            read.or_else(|_| serde_json::from_str(&without_comments(text))).map_err(|error| {
                // The parser's message may quote the input; its position does not.
                let place =
                    format!("is not JSON at line {}, column {}", error.line(), error.column());
                wrong("(file)", place)
            })?;
        let file = ConfigMember { path: "(file)".to_owned(), value: &value, variable };
        let mut config = Self {
            servers: Vec::new(),
            refused: Vec::new(),
            warnings: Vec::new(),
            disabled: Vec::new(),
        };
        let mut has_holder = false;
        for (name, member) in file.object()? {
            let member = ConfigMember { path: name.to_owned(), value: member, variable };
            if HOLDERS.contains(&name.as_str()) {
                has_holder = true;
                for (name, value) in member.object()? {
                    config.read_server(name, &member.below(name, value))?;
                }
            } else if !matches!(name.as_str(), "inputs" | "$schema") {
                let problem = "is unknown and has no effect; servers are read from `mcpServers`";
                config.warnings.push(wrong(name, problem));
            }
        }
        if !has_holder {
            return Err(wrong("mcpServers", "is missing; expected an object of servers by name"));
        }
        if config.servers.len() > MAX_SERVERS {
            let problem =
                format!("has {} servers; expected at most {MAX_SERVERS}", config.servers.len());
            return Err(wrong("mcpServers", problem));
        }
        config.check_names()?;
        Ok(config)
    }

    /// Parses a server, or records the reason why it is left out.
    fn read_server(&mut self, name: &str, member: &ConfigMember<'_>) -> Result<(), McpConfigError> {
        let used = RefCell::default();
        let variable = |name: &str| {
            let value = (member.variable)(name)?;
            if !is_place(name) {
                let used: &RefCell<Vec<Secret>> = &used;
                used.borrow_mut().push(Secret::from(value.clone()));
            }
            Some(value)
        };
        let of =
            ConfigMember { path: member.path.clone(), value: member.value, variable: &variable };
        let is_required = of.value.get("required").and_then(Value::as_bool) == Some(true);
        match parse_server(name, &of, &mut self.warnings) {
            Ok(ServerEntry::Disabled) => self.disabled.push(name.into()),
            Ok(ServerEntry::Server(mut server)) => {
                if self.servers.iter().any(|other| other.name == server.name) {
                    self.refused.push(of.wrong("occurs twice; rename one of them"));
                } else {
                    server.secrets = used.into_inner();
                    self.servers.push(*server);
                }
            }
            Err(error) if is_required => return Err(error),
            Err(error) => self.refused.push(error),
        }
        Ok(())
    }

    /// Refuses servers whose names could give tools the same name as those of another server.
    fn check_names(&mut self) -> Result<(), McpConfigError> {
        let names: Vec<Text> = self.servers.iter().map(|server| server.name.clone()).collect();
        let mut kept = Vec::new();
        for server in std::mem::take(&mut self.servers) {
            let begins = |other: &&Text| {
                let rest = server.name.strip_prefix(other.as_str());
                rest.is_some_and(|rest| rest.starts_with('_'))
            };
            let Some(other) = names.iter().find(begins) else {
                kept.push(server);
                continue;
            };
            let problem = format!(
                "begins with the name of the server `{other}` and `_`, so that their tools could \
                be confused; rename one"
            );
            let error = wrong(format!("mcpServers.{}", server.name), problem);
            if server.is_required {
                return Err(error);
            }
            self.refused.push(error);
        }
        self.servers = kept;
        Ok(())
    }
}
