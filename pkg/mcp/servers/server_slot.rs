//! A server of a configuration, its tools, and its state.

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::model::Tool as Listed;
use tokio::time::{Instant, timeout};

#[cfg(test)]
use super::session_start::SessionSlot;
use super::{
    list_bounds::ListBounds,
    list_session::{ListSession, ServerStart},
    mcp_tool::{McpTool, source_of},
    offered_names::OfferedNames,
    retry_pause::RetryPause,
};
use crate::{
    config::mcp_server::McpServer,
    requests::mcp_options::McpOptions,
    session::{mcp_error::McpError, server_session::ServerSession},
};
use forgeline_agent::tools::{RegistryError, Tool, ToolRegistry};
use forgeline_types::Text;

/// Maximum time in which an optional server lists its tools for a run, including its start.
const OPTIONAL_TIMEOUT: Duration = Duration::from_secs(8);

/// Maximum time for the handshake, and for the list, of a server whose `timeout` is longer.
const MAX_START: Duration = Duration::from_secs(30);

/// A server and its state.
#[derive(Debug)]
pub(crate) struct ServerSlot {
    start: ServerStart,
    last: Mutex<ListOutcome>,
}

/// The end of the last attempt to list a server's tools.
#[derive(Debug, Default)]
struct ListOutcome {
    failure: Option<McpError>,
    left_out: Vec<RegistryError>,
    /// The names of the tools in the last list that arrived.
    tools: Vec<Text>,
    pause: RetryPause,
    late: LateNotice,
    /// The number of tools of a server that was missing in the list before, until that is reported.
    joined: Option<usize>,
}

/// The notice about a server that never worked and for which a run has waited, which is reported once.
#[derive(Debug, Default, PartialEq, Eq)]
enum LateNotice {
    #[default]
    No,
    ToTell,
    Told,
}

/// A server that had worked, and is left out of a run.
pub(crate) struct MissingServer {
    pub(crate) server: Text,
    pub(crate) error: McpError,
    pub(crate) tools: Vec<Text>,
}

type ListedTools = (Vec<Arc<dyn Tool>>, Vec<RegistryError>);

impl ServerSlot {
    pub(crate) fn new(server: McpServer, options: &McpOptions) -> Self {
        let mut options = options.clone();
        options.login.asking = Arc::default();
        if let Some(limit) = server.timeout {
            options.start_timeout = limit.min(MAX_START);
            options.list_timeout = limit.min(MAX_START);
        }
        let (place, sessions, last) = Default::default();
        let server = Arc::new(server);
        Self { start: ServerStart { server, options, place, sessions }, last }
    }

    /// Returns a server whose session exists.
    #[cfg(test)]
    pub(crate) fn with_session(server: McpServer, session: ServerSession) -> Self {
        let mut slot = Self::new(server, &McpOptions::default());
        slot.start.sessions = SessionSlot::ready(session);
        slot
    }

    /// Returns the login of the server, which counts the people being asked.
    #[cfg(test)]
    pub(crate) fn login(&self) -> &crate::oauth::login_options::LoginOptions {
        &self.start.options.login
    }

    pub(crate) fn name(&self) -> &Text {
        &self.start.server.name
    }

    pub(crate) fn is_required(&self) -> bool {
        self.start.server.is_required
    }

    pub(crate) fn kill(&self) {
        self.start.place.kill();
    }

    /// Returns `true` while a person logs in to the server.
    pub(crate) fn is_asking(&self) -> bool {
        self.start.options.login.is_asking()
    }

    pub(crate) fn failure(&self) -> Option<McpError> {
        self.last().failure.clone()
    }

    pub(crate) fn left_out(&self) -> Vec<RegistryError> {
        self.last().left_out.clone()
    }

    /// Returns the missing tools, if the server had worked and did not list its tools when last asked.
    pub(crate) fn gone(&self) -> Option<MissingServer> {
        let last = self.last();
        let error = last.failure.clone().filter(|_| !last.tools.is_empty())?;
        Some(MissingServer {
            server: self.start.server.name.clone(),
            error,
            tools: last.tools.clone(),
        })
    }

    /// Returns, once, the reason why a server that never worked is missing, after a run has waited for it in vain.
    pub(crate) fn late(&self) -> Option<McpError> {
        let mut last = self.last();
        if last.late != LateNotice::ToTell {
            return None;
        }
        last.late = LateNotice::Told;
        last.failure.clone()
    }

    /// Returns, once, the number of tools of a server that was missing, and has listed them since.
    pub(crate) fn joined(&self) -> Option<usize> {
        self.last().joined.take()
    }

    /// Returns the last error during a pause of the server: it has failed at least twice in a row, and no start has led to a session since.
    fn paused(&self) -> Option<McpError> {
        if self.start.server.is_required || self.is_asking() || self.start.sessions.is_ready() {
            return None;
        }
        let last = self.last();
        last.failure.clone().filter(|_| last.pause.is_on(Instant::now()))
    }

    /// Ends the session.
    pub(crate) async fn close(&self) {
        if let Some(session) = self.start.sessions.take() {
            session.close().await;
        }
    }

    /// Returns the session, or a new one when there is none or it has ended.
    pub(crate) async fn session(&self) -> Result<Arc<ServerSession>, McpError> {
        self.start.session().await
    }

    /// Returns the name of the server as a source of text from outside.
    pub(crate) fn outside_source(&self) -> String {
        source_of(&self.start.server.name)
    }

    /// Returns what the server writes about the use of its tools, if it runs and the file does not leave that out.
    pub(crate) fn instructions(&self) -> Option<String> {
        let session = self.start.sessions.running()?;
        session.instructions().filter(|_| self.start.server.passes_instructions)
    }

    /// Lists the tools, and records errors. An optional server does not delay a run for long, nor every run;
    /// `first` is for the first list, which may take as long as the server is allowed, and as `first` says.
    pub(crate) async fn tools(
        &self,
        first: Option<Duration>,
    ) -> Result<Vec<Arc<dyn Tool>>, McpError> {
        let is_first = first.is_some();
        if !is_first && let Some(error) = self.paused() {
            return Err(error);
        }
        let began = Instant::now();
        let mut limit = OPTIONAL_TIMEOUT;
        if !is_first && !self.start.server.is_required && !self.is_asking() {
            // A start that hangs is waited for once, not by each run anew.
            limit = limit.saturating_sub(self.start.sessions.waited());
            if limit.is_zero() {
                let error = self.timed_out(OPTIONAL_TIMEOUT);
                self.last().failure.get_or_insert_with(|| error.clone());
                return Err(error);
            }
        }
        if let Some(most) = first {
            limit = limit
                .max(self.start.options.start_timeout + self.start.options.list_timeout)
                .min(most);
        }
        let listed = self.listed_within(limit).await;
        let mut last = self.last();
        match listed {
            Ok((tools, left_out)) => {
                let names = tools.iter().map(|tool| tool.name().into()).collect();
                let joined = last.failure.as_ref().map(|_| tools.len()).or(last.joined);
                *last = ListOutcome { left_out, tools: names, joined, ..ListOutcome::default() };
                Ok(tools)
            }
            Err(error) => {
                last.pause.failed(began, Instant::now());
                let is_late = matches!(error, McpError::TimedOut { .. }) && last.tools.is_empty();
                if is_late && !is_first && last.late == LateNotice::No {
                    last.late = LateNotice::ToTell;
                }
                (last.failure, last.joined) = (Some(error.clone()), None);
                last.left_out = Vec::new();
                Err(error)
            }
        }
    }

    fn last(&self) -> MutexGuard<'_, ListOutcome> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists the tools within `limit`, unless the server is required; while a person logs in, the limit starts anew.
    async fn listed_within(&self, limit: Duration) -> Result<ListedTools, McpError> {
        if self.start.server.is_required {
            return self.listed().await;
        }
        let mut listed = pin!(self.listed());
        loop {
            if let Ok(listed) = timeout(limit, &mut listed).await {
                return listed;
            }
            if !self.is_asking() {
                return Err(self.timed_out(limit));
            }
        }
    }

    fn timed_out(&self, after: Duration) -> McpError {
        let (server, request) = (self.start.server.name.clone(), "tools/list");
        McpError::TimedOut { server, request, after, said: String::new() }
    }

    async fn listed(&self) -> Result<ListedTools, McpError> {
        let (session, listed) = self.session_and_list().await?;
        let list = Arc::new(ListSession::new(self.start.clone(), session));
        let McpServer { name: server, trusts_annotations, timeout, .. } = &*self.start.server;
        let own: Vec<_> = listed.iter().map(|listed| listed.name.clone()).collect();
        let names = OfferedNames::of_server(server).for_tools(own.iter().map(AsRef::as_ref));
        let mut registry = ToolRegistry::default();
        let (mut tools, mut left_out) = (Vec::new(), Vec::new());
        let mut bounds = ListBounds::default();
        for (listed, name) in listed.into_iter().zip(names) {
            let name = (server.as_str(), name);
            let tool = McpTool::new(Arc::clone(&list), name, listed, *trusts_annotations)
                .limited(*timeout);
            let tool = match bounds.fit(tool) {
                Ok(tool) => Arc::new(tool) as Arc<dyn Tool>,
                Err(error) => {
                    left_out.push(error);
                    continue;
                }
            };
            match registry.register(Arc::clone(&tool)) {
                Ok(()) => tools.push(tool),
                Err(error) => left_out.push(error),
            }
        }
        Ok((tools, left_out))
    }

    /// Returns `false` for a tool that the file excludes.
    fn offers(&self, tool: &str) -> bool {
        let McpServer { included_tools, excluded_tools, .. } = &*self.start.server;
        let has = |names: &Vec<String>| names.iter().any(|name| name == tool);
        included_tools.as_ref().is_none_or(has) && !has(excluded_tools)
    }

    /// Lists the tools, over a new session if a remote server does not know the old one any more.
    async fn session_and_list(&self) -> Result<(Arc<ServerSession>, Vec<Listed>), McpError> {
        let session = self.session().await?;
        let is_old = session.is_remote() && session.has_listed();
        match self.list_of(&session).await {
            Err(McpError::Failed { .. } | McpError::Ended { .. }) if is_old => {}
            listed => return Ok((session, listed?)),
        }
        let session = self.session().await?;
        let listed = self.list_of(&session).await?;
        Ok((session, listed))
    }

    /// Lists the tools; a server that does not answer is restarted with the next run.
    async fn list_of(&self, session: &Arc<ServerSession>) -> Result<Vec<Listed>, McpError> {
        let listed = session.tools(|name| self.offers(name)).await;
        let is_lost = session.is_remote() && listed.is_err();
        if is_lost || matches!(listed, Err(McpError::TimedOut { .. })) {
            self.start.sessions.forget(session);
        }
        listed
    }
}
