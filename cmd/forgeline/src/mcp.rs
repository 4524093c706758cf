//! MCP servers, whose tools the model may call.

use std::{
    convert::Infallible,
    future::pending,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use clap::Args;
use forgeline::agent::{
    mcp::{LoopbackLogins, McpConfig, McpError, McpOptions, McpQuestion, McpServers},
    tools::Tool,
};
use forgeline::types::ToolAnswer;

use crate::{
    exit::{InterruptedStart, UsageResult as _, note},
    input::read_text,
    render::escape_controls,
    setup::SetupContext,
};

/// Time after which the command reports what it waits for.
const PATIENCE: Duration = Duration::from_secs(3);
/// Longest wait of a chat for servers that are not required.
const CHAT_PATIENCE: Duration = Duration::from_secs(2);

/// The servers, as flags.
#[derive(Debug, Clone, Args)]
pub(crate) struct McpArgs {
    /// Start the MCP servers of this JSON file, in the format of other MCP clients, and offer their tools to the
    /// model; each call needs approval, unless the file trusts a server's annotations (`trustAnnotations`)
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
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
    /// A usage error when the file is wrong.
    #[cfg(feature = "serve")]
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.config().map(drop)
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
        for refused in &config.refused {
            note(&escape_controls(&format!("skipped an MCP server: {refused}")));
        }
        for warning in &config.warnings {
            note(&escape_controls(&format!("in {}: {warning}", path.display())));
        }
        let stop = at.interrupts.begin(true);
        let is_patient = !at.is_chat || named;
        let limit = if is_patient { Duration::MAX } else { CHAT_PATIENCE };
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
            let is_late =
                matches!(&failure, McpError::TimedOut { after, .. } if *after == CHAT_PATIENCE);
            let later = if is_late && !is_patient {
                "; its tools are added once it has started"
            } else {
                ""
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
