//! The session that the tools of one list share.

use std::{fmt, sync::Arc};

use tokio::sync::Mutex;

use super::session_start::SessionSlot;
use crate::{
    config::mcp_server::McpServer,
    requests::mcp_options::McpOptions,
    session::{mcp_error::McpError, server_process::ProcessSlot, server_session::ServerSession},
};
use forgeline_agent::tools::ToolError;

/// The means to start a server, or to reach it.
#[derive(Debug, Clone)]
pub(crate) struct ServerStart {
    pub(crate) server: Arc<McpServer>,
    pub(crate) options: McpOptions,
    pub(crate) place: Arc<ProcessSlot>,
    pub(crate) sessions: SessionSlot,
}

impl ServerStart {
    /// Returns the session, or a new one when there is none or it has ended.
    pub(crate) async fn session(&self) -> Result<Arc<ServerSession>, McpError> {
        self.sessions.get(&self.server, &self.options, &self.place).await
    }
}

/// The session that the tools of one list share. Each run lists the tools, so that a server which ends in a run is started again once in it.
pub(crate) struct ListSession {
    start: ServerStart,
    current: Mutex<CurrentSession>,
}

struct CurrentSession {
    session: Arc<ServerSession>,
    /// `true` once the server has been started again.
    is_second: bool,
}

impl ListSession {
    pub(crate) fn new(start: ServerStart, session: Arc<ServerSession>) -> Self {
        Self { start, current: Mutex::new(CurrentSession { session, is_second: false }) }
    }

    /// Returns the session, which is a new one if the server has ended for the first time.
    ///
    /// # Errors
    ///
    /// Returns an error if the server has ended again, or does not start.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, a start continues, and the next run uses it.
    pub(crate) async fn session(&self) -> Result<Arc<ServerSession>, ToolError> {
        let mut current = self.current.lock().await;
        if !current.session.has_ended() {
            return Ok(Arc::clone(&current.session));
        }
        if current.is_second {
            return Err(ToolError::failed(format!(
                "the MCP server `{}` has ended, was started again once, and is not started again in this run; continue without it",
                self.start.server.name
            )));
        }
        current.is_second = true;
        let before = current.session.offered_names();
        let started = async {
            let session = self.start.session().await?;
            session.tools(|name| before.contains(name)).await?;
            Ok::<_, McpError>(session)
        };
        let session = started.await.map_err(|error| ToolError::failed(error.to_string()))?;
        current.session = Arc::clone(&session);
        Ok(session)
    }
}

impl fmt::Debug for ListSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ListSession")
            .field("server", &self.start.server.name)
            .finish_non_exhaustive()
    }
}
