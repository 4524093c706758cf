//! The servers of a configuration as a source of tools.

use std::{sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::future::join_all;

use super::server_slot::{MissingServer, ServerSlot};
use crate::{
    config::mcp_config::McpConfig, requests::mcp_options::McpOptions, session::mcp_error::McpError,
};
#[cfg(test)]
use crate::{config::mcp_server::McpServer, session::server_session::ServerSession};
use forgeline_agent::{
    notice::ToolSourceNotice,
    run::RunContext,
    tools::{RegistryError, Tool, ToolSource},
};
use forgeline_types::{AgentError, ErrorCode, Text};

/// The kind of the notice about a server that had worked and whose tools are missing now.
const GONE: &str = "mcp_server_gone";

/// The kind of the notice about a server that never worked, and for which a run has waited.
const LATE: &str = "mcp_server_late";

/// The kind of the notice about a server that was missing, and whose tools are there now.
const JOINED: &str = "mcp_server_joined";

/// Maximum number of tool names in such a notice.
const MAX_GONE: usize = 20;

/// Running MCP servers as a [`ToolSource`]: their tools are named `mcp.<server>.<tool>`.
///
/// Each run lists the tools anew, and restarts servers that have ended. If a server that had worked is left out of a run, the custom event
/// [`Notice::ToolSource`](forgeline_agent::notice::Notice::ToolSource) reports it with the `kind` `mcp_server_gone`, the `server`, the `reason`, the `count` of its tools and the
/// names of up to 20. A server that never worked and for which a run has waited is reported once, as `mcp_server_late` with the `server` and the `reason`; the
/// first run that has the tools of a server that was missing before reports it as `mcp_server_joined` with the `server` and the `count` of its tools.
/// A server that is not required and fails twice in a row is paused for 15 s, and then for longer, up to 5 min; in the meantime, runs continue at once
/// without it, unless a start succeeds. A start continues after the run that requested it has ended. While a person logs in to a server, runs wait for it.
/// Results are text from [outside](forgeline_types::TextOrigin::Outside), and calls count as irreversible, so that they require approval, unless the
/// configuration trusts the server's hints. Servers see `PATH`, `HOME` and a few other variables besides their own. Servers and the processes that they
/// started are killed when this value and all of its tools are dropped.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{agent::{Agent, mcp::{McpConfig, McpServers}}, llm::demo::DemoProvider};
///
/// let config = McpConfig::parse(&std::fs::read_to_string("mcp.json")?)?;
/// let servers = McpServers::connect(config).await?;
/// for failure in servers.failures() {
///     eprintln!("{failure}");
/// }
/// let agent = Agent::builder(DemoProvider::new()).tool_source(servers).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct McpServers(Arc<[ServerSlot]>);

impl McpServers {
    /// Starts all servers at the same time, and lists their tools.
    ///
    /// # Errors
    ///
    /// Returns an error if a required server does not work; [`failures`](Self::failures) returns those of the others.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, no process is left behind.
    pub async fn connect(config: McpConfig) -> Result<Self, McpError> {
        Self::connect_with(config, McpOptions::default()).await
    }

    /// Starts the servers as [`connect`](Self::connect) does, with options for what they may request from this program.
    ///
    /// # Errors
    ///
    /// The same as for [`connect`](Self::connect).
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, no process is left behind.
    pub async fn connect_with(config: McpConfig, options: McpOptions) -> Result<Self, McpError> {
        Ok(Self::connect_listed(config, options).await?.0)
    }

    /// Starts the servers as [`connect_with`](Self::connect_with) does, and also returns their tools, without waiting again. They are for a program that
    /// displays them; a run lists its own.
    ///
    /// # Errors
    ///
    /// The same as for [`connect_with`](Self::connect_with).
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, no process is left behind.
    pub async fn connect_listed(
        config: McpConfig,
        options: McpOptions,
    ) -> Result<(Self, Vec<Arc<dyn Tool>>), McpError> {
        Self::connect_within(config, options, Duration::MAX).await
    }

    /// Starts the servers as [`connect_listed`](Self::connect_listed) does, and waits for those that are not required for at most `limit`: their start
    /// continues, and their tools are available to the first run after it. [`failures`](Self::failures) returns those that were not waited for.
    ///
    /// # Errors
    ///
    /// Returns an error if a required server does not work.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, no process is left behind.
    pub async fn connect_within(
        config: McpConfig,
        options: McpOptions,
        limit: Duration,
    ) -> Result<(Self, Vec<Arc<dyn Tool>>), McpError> {
        let slot = |server| ServerSlot::new(server, &options);
        let servers = Self(config.servers.into_iter().map(slot).collect());
        let tools = servers.tools_of_all(Some(limit)).await?;
        Ok((servers, tools))
    }

    /// Closes the sessions; remote servers are notified, for at most a second. A server that is used afterwards starts anew.
    pub async fn close(&self) {
        join_all(self.0.iter().map(ServerSlot::close)).await;
    }

    /// Returns the errors of servers whose tools were left out of the last list.
    #[must_use]
    pub fn failures(&self) -> Vec<McpError> {
        self.0.iter().filter_map(ServerSlot::failure).collect()
    }

    /// Returns the errors of tools that were left out of the last list: their names are taken or invalid, their schema does not describe an object, or
    /// their description is too long.
    #[must_use]
    pub fn left_out(&self) -> Vec<RegistryError> {
        self.0.iter().flat_map(ServerSlot::left_out).collect()
    }

    /// Kills the processes of all servers permanently: one that is to be restarted is killed, too. This is for a program that exits without dropping its
    /// values, as many do on a signal; otherwise, dropping this value does the same.
    pub fn kill(&self) {
        self.0.iter().for_each(ServerSlot::kill);
    }

    pub(crate) fn slots(&self) -> &[ServerSlot] {
        &self.0
    }

    /// Returns the server with this name.
    pub(crate) fn slot(&self, name: &str) -> Result<&ServerSlot, McpError> {
        let slot = self.0.iter().find(|slot| slot.name() == name);
        slot.ok_or_else(|| {
            let names: Vec<_> = self.0.iter().map(|slot| slot.name().as_str()).collect();
            McpError::Unknown { server: name.into(), known: names.join(", ") }
        })
    }

    /// Returns a set with one server, whose session exists.
    #[cfg(test)]
    pub(crate) fn with_session(server: McpServer, session: ServerSession) -> Self {
        Self([ServerSlot::with_session(server, session)].into())
    }

    /// Lists the tools of all servers, in the order of the configuration.
    pub(crate) async fn list(&self) -> Result<Vec<Arc<dyn Tool>>, McpError> {
        self.tools_of_all(None).await
    }

    async fn tools_of_all(&self, first: Option<Duration>) -> Result<Vec<Arc<dyn Tool>>, McpError> {
        let listed = join_all(self.0.iter().map(|slot| slot.tools(first))).await;
        let mut tools = Vec::new();
        for (slot, listed) in self.0.iter().zip(listed) {
            match listed {
                Ok(listed) => tools.extend(listed),
                Err(error) if slot.is_required() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(tools)
    }
}

impl ToolSource for McpServers {
    fn tools(
        &self,
        _run: RunContext,
    ) -> BoxFuture<'static, Result<Vec<Arc<dyn Tool>>, AgentError>> {
        let servers = self.clone();
        Box::pin(async move {
            servers.list().await.map_err(|error| {
                let is_late = matches!(error, McpError::TimedOut { .. });
                let code = if is_late { ErrorCode::Timeout } else { ErrorCode::Connect };
                AgentError::new(code, error.to_string()).retryable(true)
            })
        })
    }

    fn is_asking(&self) -> bool {
        self.0.iter().any(ServerSlot::is_asking)
    }

    /// Returns a notice for each server that had worked and is left out now, and, once, for each that never worked, and for each that has joined.
    fn notices(&self) -> Vec<ToolSourceNotice> {
        let notice = |MissingServer { server, error, tools }: MissingServer| {
            let names: Vec<_> = tools.iter().take(MAX_GONE).map(Text::as_str).collect();
            let reason = error.to_string();
            let notice = ToolSourceNotice::new(GONE).field("server", server.as_str());
            notice.field("reason", reason).field("tools", names).field("count", tools.len())
        };
        let late = |slot: &ServerSlot| {
            let reason = slot.late()?.to_string();
            let notice = ToolSourceNotice::new(LATE).field("server", slot.name().as_str());
            Some(notice.field("reason", reason))
        };
        let joined = |slot: &ServerSlot| {
            let count = slot.joined()?;
            let notice = ToolSourceNotice::new(JOINED).field("server", slot.name().as_str());
            Some(notice.field("count", count))
        };
        let gone = self.0.iter().filter_map(ServerSlot::gone).map(notice);
        gone.chain(self.0.iter().filter_map(late)).chain(self.0.iter().filter_map(joined)).collect()
    }
}
