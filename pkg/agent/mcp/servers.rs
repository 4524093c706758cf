//! The servers of a configuration as a source of tools.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_core::future::BoxFuture;
use futures_util::future::join_all;
use rmcp::model::Tool as Listed;

use super::{
    McpConfig, McpError, McpOptions, McpServer, process::Place, session::Session, tool::McpTool,
};
use crate::{
    agent::{
        RunContext, ToolSource,
        tools::{RegistryError, Tool, ToolRegistry},
    },
    types::{AgentError, ErrorCode, Text},
};

/// Longest time in which a server that is not required lists its tools for a run, its start included.
const OPTIONAL_TIMEOUT: Duration = Duration::from_secs(8);

/// MCP servers that run, as a [`ToolSource`]: their tools are `mcp.<server>.<tool>`.
///
/// Each run lists the tools anew, and starts a server again that has ended. Results are text from
/// [outside](crate::types::TextOrigin::Outside), and calls count as irreversible, so that a person is asked, unless the
/// configuration trusts the server's hints. Servers see `PATH`, `HOME` and a few other variables besides their own. They
/// and what they started are killed when this and all its tools are dropped.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{agent::{DefaultAgent, mcp::{McpConfig, McpServers}}, llm::demo::DemoProvider};
///
/// let config = McpConfig::parse(&std::fs::read_to_string("mcp.json")?)?;
/// let servers = McpServers::connect(config).await?;
/// for failure in servers.failures() {
///     eprintln!("{failure}");
/// }
/// let agent = DefaultAgent::builder(DemoProvider::new()).tool_source(servers).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct McpServers {
    slots: Arc<[Slot]>,
    options: McpOptions,
}

/// A server and what is known of it.
#[derive(Debug)]
pub(super) struct Slot {
    server: McpServer,
    place: Place,
    session: tokio::sync::Mutex<Option<Arc<Session>>>,
    last: Mutex<Last>,
}

/// The end of the last attempt to list a server's tools.
#[derive(Debug, Default)]
struct Last {
    failure: Option<McpError>,
    left_out: Vec<RegistryError>,
}

impl McpServers {
    /// Starts the servers, all at the same time, and lists their tools.
    ///
    /// # Errors
    ///
    /// When a required server does not work; [`failures`](Self::failures) has those of the others.
    ///
    /// # Cancel safety
    ///
    /// A dropped start leaves no process.
    pub async fn connect(config: McpConfig) -> Result<Self, McpError> {
        Self::connect_with(config, McpOptions::default()).await
    }

    /// Starts the servers as [`connect`](Self::connect) does, with what they may ask of this program.
    ///
    /// # Errors
    ///
    /// As for that.
    ///
    /// # Cancel safety
    ///
    /// A dropped start leaves no process.
    pub async fn connect_with(config: McpConfig, options: McpOptions) -> Result<Self, McpError> {
        let slot = |server| Slot {
            server,
            place: Place::default(),
            session: tokio::sync::Mutex::default(),
            last: Mutex::default(),
        };
        let slots = config.servers.into_iter().map(slot).collect();
        let servers = Self { slots, options };
        servers.list().await?;
        Ok(servers)
    }

    /// Ends the sessions: remote servers hear of it, for at most a second. What is used afterwards starts anew.
    pub async fn close(&self) {
        let close = async |slot: &Slot| {
            // One that is being started has nothing to end.
            let session = slot.session.try_lock().ok().and_then(|mut session| session.take());
            if let Some(session) = session {
                session.close().await;
            }
        };
        join_all(self.slots.iter().map(close)).await;
    }

    /// Returns the errors of servers whose tools were left out when they were last listed.
    #[must_use]
    pub fn failures(&self) -> Vec<McpError> {
        self.slots.iter().filter_map(|slot| slot.last().failure.clone()).collect()
    }

    /// Returns the errors of tools that were left out when they were last listed: their names are taken or not valid,
    /// or their schema describes no object.
    #[must_use]
    pub fn left_out(&self) -> Vec<RegistryError> {
        self.slots.iter().flat_map(|slot| slot.last().left_out.clone()).collect()
    }

    /// Kills the processes of all servers, for good: one that is to be started again is killed too. It is for a program
    /// that exits without dropping its values, as many do on a signal; otherwise a drop does the same.
    pub fn kill(&self) {
        self.slots.iter().for_each(|slot| slot.place.kill());
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(super) fn options(&self) -> &McpOptions {
        &self.options
    }

    /// Returns the server of this name.
    pub(super) fn slot(&self, name: &str) -> Result<&Slot, McpError> {
        let slot = self.slots.iter().find(|slot| slot.server.name == name);
        slot.ok_or_else(|| {
            let names: Vec<_> = self.slots.iter().map(|slot| slot.server.name.as_str()).collect();
            McpError::Unknown { server: name.into(), known: names.join(", ") }
        })
    }

    /// Returns a server with which there is a session.
    #[cfg(test)]
    pub(super) fn with_session(server: McpServer, session: Session) -> Self {
        let session = tokio::sync::Mutex::new(Some(Arc::new(session)));
        let (place, last) = (Place::default(), Mutex::default());
        let slots = [Slot { server, place, session, last }].into();
        Self { slots, options: McpOptions::default() }
    }

    /// Lists the tools of all servers, in the order of the configuration.
    pub(super) async fn list(&self) -> Result<Vec<Arc<dyn Tool>>, McpError> {
        let listed = join_all(self.slots.iter().map(|slot| slot.tools(&self.options))).await;
        let mut tools = Vec::new();
        for (slot, listed) in self.slots.iter().zip(listed) {
            match listed {
                Ok(listed) => tools.extend(listed),
                Err(error) if slot.server.is_required => return Err(error),
                Err(_) => {}
            }
        }
        Ok(tools)
    }
}

impl Slot {
    pub(super) fn name(&self) -> &Text {
        &self.server.name
    }

    pub(super) fn is_required(&self) -> bool {
        self.server.is_required
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists the tools, and keeps what was wrong.
    async fn tools(&self, options: &McpOptions) -> Result<Vec<Arc<dyn Tool>>, McpError> {
        let listed = self.listed_in_time(options).await;
        let mut last = self.last();
        match listed {
            Ok((tools, left_out)) => {
                *last = Last { failure: None, left_out };
                Ok(tools)
            }
            Err(error) => {
                *last = Last { failure: Some(error.clone()), left_out: Vec::new() };
                Err(error)
            }
        }
    }

    /// Lists the tools; a server that is not required holds up no run.
    async fn listed_in_time(
        &self,
        options: &McpOptions,
    ) -> Result<(Vec<Arc<dyn Tool>>, Vec<RegistryError>), McpError> {
        if self.server.is_required {
            return self.listed(options).await;
        }
        let listed = tokio::time::timeout(OPTIONAL_TIMEOUT, self.listed(options)).await;
        listed.unwrap_or_else(|_late| {
            let (server, request) = (self.server.name.clone(), "tools/list");
            Err(McpError::TimedOut { server, request, after: OPTIONAL_TIMEOUT })
        })
    }

    async fn listed(
        &self,
        options: &McpOptions,
    ) -> Result<(Vec<Arc<dyn Tool>>, Vec<RegistryError>), McpError> {
        let (session, listed) = self.session_and_list(options).await?;
        let mut registry = ToolRegistry::default();
        let (mut tools, mut left_out) = (Vec::new(), Vec::new());
        for listed in listed {
            let McpServer { name, trusts_annotations, .. } = &self.server;
            let tool = McpTool::new(Arc::clone(&session), name, listed, *trusts_annotations);
            let tool: Arc<dyn Tool> = Arc::new(tool);
            match registry.register(Arc::clone(&tool)) {
                Ok(()) => tools.push(tool),
                Err(error) => left_out.push(error),
            }
        }
        Ok((tools, left_out))
    }

    /// Lists the tools, over a new session where a remote server does not know the old one any more.
    async fn session_and_list(
        &self,
        options: &McpOptions,
    ) -> Result<(Arc<Session>, Vec<Listed>), McpError> {
        let session = self.session(options).await?;
        let is_old = session.is_remote() && session.has_listed();
        match self.list_of(&session).await {
            Err(McpError::Failed { .. } | McpError::Ended { .. }) if is_old => {}
            listed => return Ok((session, listed?)),
        }
        let session = self.session(options).await?;
        let listed = self.list_of(&session).await?;
        Ok((session, listed))
    }

    /// Lists the tools; a server that does not answer is started again with the next run.
    async fn list_of(&self, session: &Arc<Session>) -> Result<Vec<Listed>, McpError> {
        let listed = session.tools().await;
        let is_lost = session.is_remote() && listed.is_err();
        if is_lost || matches!(listed, Err(McpError::TimedOut { .. })) {
            let mut kept = self.session.lock().await;
            // Another run may have started it again.
            kept.take_if(|kept| Arc::ptr_eq(kept, session));
        }
        listed
    }

    /// Returns the session, a new one when there is none or it has ended.
    pub(super) async fn session(&self, options: &McpOptions) -> Result<Arc<Session>, McpError> {
        let mut session = self.session.lock().await;
        if let Some(session) = session.as_ref().filter(|session| !session.has_ended()) {
            return Ok(Arc::clone(session));
        }
        // The old process goes before the new one comes: both may want the same files.
        *session = None;
        let started = Arc::new(Session::start(&self.server, options, &self.place).await?);
        *session = Some(Arc::clone(&started));
        Ok(started)
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
}
