//! MCP servers, whose tools the model may call.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use forgeline::agent::{
    RunContext, ToolSource as _,
    mcp::{McpConfig, McpServers},
    tools::Tool,
};
use tokio::runtime::Runtime;

use crate::{
    exit::{UsageResult as _, note},
    input::read_text,
    render::escape_controls,
};

/// The servers, as flags.
#[derive(Debug, Clone, Args)]
pub(crate) struct McpArgs {
    /// Start the MCP servers of this JSON file, in the form that other clients read, and give the model their
    /// tools; it asks before each call, unless the file trusts a server's `trustAnnotations`
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
}

/// Servers that run, and their tools at the start.
pub(crate) struct Connected {
    pub(crate) servers: McpServers,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
}

impl McpArgs {
    /// Starts the servers, and says on stderr which of them and of their tools are left out.
    ///
    /// # Errors
    ///
    /// A usage error when the file is wrong; an error when a required server does not work.
    pub(crate) fn connect(&self, runtime: &Runtime) -> anyhow::Result<Option<Connected>> {
        let Some(path) = &self.mcp else { return Ok(None) };
        let config = McpConfig::parse(&read_text(path)?).usage_context(|| {
            format!("{} cannot be read as a list of MCP servers", path.display())
        })?;
        let (servers, tools) = runtime.block_on(async {
            let servers = McpServers::connect(config).await?;
            let tools = servers.tools(RunContext::default()).await?;
            anyhow::Ok((servers, tools))
        })?;
        for failure in servers.failures() {
            note(&escape_controls(&failure.to_string()));
        }
        for error in servers.left_out() {
            note(&escape_controls(&format!("a tool of an MCP server is left out: {error}")));
        }
        Ok(Some(Connected { servers, tools }))
    }
}
