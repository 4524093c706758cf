//! MCP servers, whose tools the model may call.

use std::{
    convert::Infallible,
    future::pending,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    pin::pin,
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use clap::Args;
use forgeline::agent::{
    AgentBuilder,
    mcp::{LoopbackLogins, McpConfig, McpError, McpOptions, McpQuestion, McpServers},
    tools::Tool,
};
use forgeline::types::ToolAnswer;

use crate::{
    exit::{InterruptedStart, UsageResult as _, note, usage},
    input::read_text,
    render::escape_controls,
    setup::SetupContext,
    shown::is_secret,
};

/// Time after which the command reports what it waits for.
const PATIENCE: Duration = Duration::from_secs(3);
/// Longest wait of a chat or a service for servers that are not required; runs that begin later have their tools.
const CHAT_PATIENCE: Duration = Duration::from_secs(2);
/// Longest wait of a single run for servers that are not required.
const RUN_PATIENCE: Duration = Duration::from_secs(15);

/// The servers, as flags.
#[derive(Debug, Clone, Args)]
pub(crate) struct McpArgs {
    /// Start the MCP servers of this JSON file, in the format of other MCP clients, and offer their tools to the
    /// model; each call needs approval, unless the file trusts a server's annotations (`trustAnnotations`)
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
    /// Let all tools of this MCP server, or one of its tools, run unasked, as long as no other text from outside than the
    /// server's is in the conversation; may be given several times
    #[arg(long, value_name = "SERVER[.TOOL]", requires = "mcp", value_delimiter = ',')]
    trust_mcp: Vec<McpTrust>,
}

/// A thing that a person trusts: a server, or one of its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
struct McpTrust {
    server: String,
    tool: Option<String>,
}

impl FromStr for McpTrust {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.strip_prefix("mcp.").unwrap_or(text);
        let (server, tool) = match name.split_once('.') {
            Some((server, tool)) => (server, Some(tool.to_owned())),
            None => (name, None),
        };
        if server.is_empty() || tool.as_ref().is_some_and(String::is_empty) {
            return Err("expected the name of a server, or SERVER.TOOL".to_owned());
        }
        Ok(Self { server: server.to_owned(), tool })
    }
}

impl McpTrust {
    /// Returns the name of the server as a source of text.
    fn source(&self) -> String {
        format!("mcp.{}", self.server)
    }

    /// Returns the name of the tool, if it is not the whole server that is trusted.
    fn tool(&self) -> Option<String> {
        let tool = self.tool.as_ref()?;
        Some(format!("mcp.{}.{tool}", self.server))
    }
}

/// Servers that run, and their tools at the start.
pub(crate) struct ConnectedServers {
    pub(crate) servers: McpServers,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
}

impl McpArgs {
    fn config(&self) -> anyhow::Result<Option<McpConfig>> {
        let Some(path) = &self.mcp else { return Ok(None) };
        let config = McpConfig::parse(&read_text(path)?)
            .usage_context(|| format!("cannot read {} as a list of MCP servers", path.display()))?;
        Ok(Some(config))
    }

    /// Returns the path of the file.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.mcp.as_deref()
    }

    /// Returns `true` when there may be servers.
    #[cfg(feature = "serve")]
    pub(crate) fn is_given(&self) -> bool {
        self.mcp.is_some()
    }

    /// Reads the file, and starts nothing.
    ///
    /// # Errors
    ///
    /// A usage error when the file is wrong, or lacks a server that is trusted.
    #[cfg(feature = "serve")]
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match self.config()? {
            Some(config) => self.check_trust(&config),
            None => Ok(()),
        }
    }

    /// Returns `true` when a server, or one of its tools, is trusted.
    pub(crate) fn is_trusting(&self) -> bool {
        !self.trust_mcp.is_empty()
    }

    fn check_trust(&self, config: &McpConfig) -> anyhow::Result<()> {
        let is_known = |name: &str| config.servers.iter().any(|server| server.name == name);
        let Some(unknown) = self.trust_mcp.iter().find(|trust| !is_known(&trust.server)) else {
            return Ok(());
        };
        let known: Vec<_> = config.servers.iter().map(|server| server.name.as_str()).collect();
        let name = escape_controls(&unknown.server);
        let name =
            if is_secret(&name) { "of this name, which looks like a secret".into() } else { name };
        Err(usage(format!(
            "--trust-mcp: there is no MCP server {name}; expected one of: {}",
            known.join(", ")
        )))
    }

    /// Lets the tools run unasked that a person trusts.
    ///
    /// # Errors
    ///
    /// A usage error for a tool that its server does not have.
    pub(crate) fn trust(
        &self,
        builder: AgentBuilder,
        connected: &ConnectedServers,
    ) -> anyhow::Result<AgentBuilder> {
        let names: Vec<_> =
            connected.tools.iter().map(forgeline::agent::tools::Tool::name).collect();
        let (mut granted, mut sources) = (Vec::new(), Vec::new());
        for trust in &self.trust_mcp {
            let Some(tool) = trust.tool() else {
                sources.push(trust.source());
                continue;
            };
            let of_server = format!("{}.", trust.source());
            let known: Vec<_> = names.iter().filter(|name| name.starts_with(&of_server)).collect();
            // A server that starts late has no tools yet.
            if !known.is_empty() && known.iter().all(|name| ***name != *tool) {
                let known: Vec<_> = known.into_iter().copied().collect();
                return Err(usage(format!(
                    "--trust-mcp: unknown tool {}; expected one of: {}",
                    escape_controls(&tool),
                    known.join(", ")
                )));
            }
            granted.push(tool);
        }
        Ok(builder.grant(granted).trust_sources(sources))
    }

    /// Starts the servers, and says on stderr which of them and of their tools are left out. A chat does not wait for those that
    /// start slowly, unless their tools are `named`.
    ///
    /// # Errors
    ///
    /// A usage error when the file is wrong; an error when a required server does not work.
    pub(crate) fn connect(
        &self,
        at: &SetupContext<'_>,
        named: bool,
    ) -> anyhow::Result<Option<ConnectedServers>> {
        let (Some(config), Some(path)) = (self.config()?, &self.mcp) else { return Ok(None) };
        self.check_trust(&config)?;
        for refused in &config.refused {
            note(&escape_controls(&format!("skipped an MCP server: {refused}")));
        }
        for warning in &config.warnings {
            note(&escape_controls(&format!("in {}: {warning}", path.display())));
        }
        let stop = at.interrupts.begin(true);
        let comes_later = at.is_chat || at.is_served();
        let limit = match (named, comes_later) {
            (true, _) => Duration::MAX,
            (false, true) => CHAT_PATIENCE,
            (false, false) => RUN_PATIENCE,
        };
        let started = at.runtime.block_on(async {
            let count = config.servers.len();
            let mut start =
                pin!(McpServers::connect_within(config, options(at.is_served()), limit));
            let waiting = async {
                tokio::time::sleep(PATIENCE).await;
                note(&format!("waiting for MCP servers to start ({count} in the file)"));
                pending::<Infallible>().await
            };
            tokio::select! {
                biased;
                () = stop.stopped() => None,
                started = &mut start => Some(started),
                never = waiting => match never {},
            }
        });
        // Servers whose start was dropped are gone.
        let Some(started) = started.filter(|_| !stop.end()) else {
            return Err(InterruptedStart.into());
        };
        let (servers, tools) = started?;
        let running = servers.clone();
        at.interrupts.at_exit(move || running.kill());
        for failure in servers.failures() {
            let is_late = matches!(&failure, McpError::TimedOut { after, .. } if *after == limit);
            let later = match (is_late, comes_later) {
                (true, true) => "; its tools are added once it has started",
                (true, false) => "; `\"required\": true` in the file waits longer",
                (false, _) => "",
            };
            note(&escape_controls(&format!("{failure}{later}")));
        }
        for error in servers.left_out() {
            note(&escape_controls(&format!("skipped a tool of an MCP server: {error}")));
        }
        Ok(Some(ConnectedServers { servers, tools }))
    }
}

/// Returns what servers may ask: in a pipe there is no one to ask, and without a screen no one to log in.
fn options(is_served: bool) -> McpOptions {
    let mut options = McpOptions::default();
    if !is_served && !io::stdin().is_terminal() {
        options = options.respondent(|_: McpQuestion| async { Some(ToolAnswer::Cancel) });
    }
    if io::stderr().is_terminal() {
        options = options.logins(LoopbackLogins::new(|server, page| {
            let server = escape_controls(server);
            note(&format!(
                "the MCP server `{server}` needs a login; open {}",
                escape_controls(page)
            ));
        }));
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: N-45
    #[test]
    fn n45_trust_is_for_a_server_or_one_of_its_tools() {
        let read = |text: &str| {
            let trust: McpTrust = text.parse()?;
            Ok::<_, String>((trust.source(), trust.tool()))
        };
        let whole =
            |source: &str, tool: Option<&str>| Ok((source.to_owned(), tool.map(str::to_owned)));
        assert_eq!(read("notes"), whole("mcp.notes", None));
        assert_eq!(read("mcp.notes"), whole("mcp.notes", None));
        assert_eq!(read("notes.add"), whole("mcp.notes", Some("mcp.notes.add")));
        assert_eq!(read("mcp.notes.a.b"), whole("mcp.notes", Some("mcp.notes.a.b")));
        for text in ["", ".", "notes.", ".add", "mcp."] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
