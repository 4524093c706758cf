//! The session with a server.

use std::{
    collections::BTreeSet,
    fmt,
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    ServiceError,
    model::Tool as Listed,
    service::{ClientInitializeError, RoleClient, RunningService, serve_client},
    transport::async_rw::AsyncRwTransport,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::timeout,
};

use super::{
    mcp_error::McpError,
    remote_errors::session_error,
    server_process::{self, ProcessSlot, ServerProcess, SharedProcessGroup, StartNumber},
    session_client::SessionClient,
    tool_page,
};
use crate::{
    config::mcp_server::McpServer,
    output::{
        last_words::{ErrorOutput, LastWords},
        output_lines::{MAX_LINE_BYTES, OutputLines, OutputStatus, OutputTrouble},
        remote_watch::RemoteWatch,
        repaired_lines::{MAX_REPAIRED_BYTES, RepairedLines},
    },
    requests::mcp_options::McpOptions,
};
use forgeline_agent::tools::ToolError;
use forgeline_types::Text;

/// Maximum number of tools of one server.
const MAX_TOOLS: usize = 1_000;

/// Maximum number of characters of a server's own message in an error.
const MAX_MESSAGE: usize = 500;

/// A session, which ends when it is dropped.
pub(crate) struct ServerSession {
    pub(crate) server: Text,
    pub(crate) client: SessionClient,
    pub(crate) service: RunningService<RoleClient, SessionClient>,
    /// The names of the tools in the last list.
    pub(crate) offered: Mutex<BTreeSet<String>>,
    /// `None` if the server is not reached over HTTP.
    pub(crate) remote: Option<Arc<RemoteWatch>>,
    /// The state of the server's output.
    pub(crate) heard: watch::Receiver<OutputStatus>,
    /// The last output of the process.
    pub(crate) words: LastWords,
    /// `None` if the server is not a process started here.
    pub(crate) _group: Option<SharedProcessGroup>,
}

impl ServerSession {
    /// Starts a server and performs the handshake.
    pub(crate) async fn start(
        server: &McpServer,
        options: &McpOptions,
        place: &ProcessSlot,
        attempt: StartNumber,
    ) -> Result<Self, McpError> {
        if let Some(remote) = &server.remote {
            return Self::remote(server.name.clone(), options, remote).await;
        }
        let process = server_process::start(server).map_err(|error| McpError::NotStarted {
            server: server.name.clone(),
            reason: error.kind().to_string(),
        })?;
        let ServerProcess { group, output, input, errors } = process;
        let group = place.hold(attempt, group);
        let values = server.variables.iter().map(|(_, value)| value);
        let words = LastWords::without(values.chain(&server.secrets));
        let aside = ErrorOutput::new(errors, words.clone());
        let beside = Some((group, words, aside));
        Self::over(server.name.clone(), options, output, input, beside).await
    }

    /// Performs the handshake over a transport.
    pub(crate) async fn over(
        server: Text,
        options: &McpOptions,
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
        beside: Option<(SharedProcessGroup, LastWords, ErrorOutput)>,
    ) -> Result<Self, McpError> {
        let (group, words, aside) = match beside {
            Some((group, words, aside)) => (Some(group), words, Some(aside)),
            None => (None, LastWords::default(), None),
        };
        let (mut output, heard) = OutputLines::new(output, aside.clone());
        if let Some(group) = &group {
            output = output.until(server_process::wait_for_exit(Arc::downgrade(group)));
        }
        let client = SessionClient::new(server.clone(), options.clone());
        let status = output.status();
        let output = RepairedLines::new(output, status);
        let transport =
            AsyncRwTransport::new(output, input).with_max_line_length(MAX_REPAIRED_BYTES);
        // Boxed, since the future is large.
        let greeting = Box::pin(serve_client(client.clone(), transport));
        let greeted = within(&server, None, "initialize", options.start_timeout, greeting).await;
        let service = match greeted.map_err(|error| error.with_words(&words))? {
            Ok(service) => service,
            Err(
                ClientInitializeError::ConnectionClosed(_)
                | ClientInitializeError::TransportError { .. },
            ) => {
                let said = match &aside {
                    Some(aside) => aside.last_words().await,
                    None => String::new(),
                };
                return Err(McpError::Ended { server, said });
            }
            Err(error) => return Err(failed(&server, &error.to_string())),
        };
        let offered = Mutex::default();
        Ok(Self { server, client, service, offered, remote: None, heard, words, _group: group })
    }

    /// Returns `true` once the server cannot answer any more.
    pub(crate) fn has_ended(&self) -> bool {
        let has_ended = self.heard.borrow().has_ended;
        has_ended || self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Lists the server's tools that are `wanted`, from all pages.
    pub(crate) async fn tools(
        &self,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<Listed>, McpError> {
        let capabilities = self.service.peer().peer_info().map(|info| info.capabilities.clone());
        if capabilities.is_some_and(|offered| offered.tools.is_none()) {
            return Ok(Vec::new());
        }
        let changes = self.client.changes();
        let listed = self.within("tools/list", self.list_timeout(), self.pages(wanted)).await??;
        self.client.has_list(changes);
        let names = listed.iter().map(|tool| tool.name.clone().into_owned());
        *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = names.collect();
        Ok(listed)
    }

    /// Returns the names of the tools in the last list.
    pub(crate) fn offered_names(&self) -> BTreeSet<String> {
        self.offered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns what the server writes about the use of its tools, if it does.
    pub(crate) fn instructions(&self) -> Option<String> {
        let info = self.service.peer().peer_info()?;
        let instructions = info.instructions.as_deref()?.trim();
        (!instructions.is_empty()).then(|| instructions.to_owned())
    }

    /// Returns `false` for a tool that the server does not offer any more: it has changed its list, and the new list lacks the tool.
    pub(crate) async fn offers(&self, name: &str) -> bool {
        let offered = || self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        if self.client.has_changed() {
            let before = offered().clone();
            let wanted = |listed: &str| listed == name || before.contains(listed);
            // A list that cannot be obtained decides nothing: the call itself will show.
            if self.tools(wanted).await.is_err() {
                return true;
            }
        }
        offered().contains(name)
    }

    /// Waits for an answer, for at most the given time.
    pub(crate) async fn within<T>(
        &self,
        request: &'static str,
        after: Duration,
        answer: impl Future<Output = T>,
    ) -> Result<T, McpError> {
        let answer = within(&self.server, self.remote.as_deref(), request, after, answer).await;
        answer.map_err(|error| error.with_words(&self.words))
    }

    /// Returns the maximum wait for a complete list.
    pub(crate) fn list_timeout(&self) -> Duration {
        self.client.options().list_timeout
    }

    /// Lists all pages. Unwanted tools do not count towards the limit: of a server with thousands, a file may name three.
    async fn pages(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<Listed>, McpError> {
        let mut tools = Vec::new();
        let mut cursor = None;
        loop {
            // Boxed, since the future is large.
            let page = Box::pin(tool_page::request_page(self.service.peer(), cursor.take())).await;
            let page = page.map_err(|error| self.error(&error))?;
            tools.extend(page.tools.into_iter().filter(|tool| wanted(&tool.name)));
            if tools.len() > MAX_TOOLS {
                let server = self.server.clone();
                return Err(McpError::TooManyTools { server, limit: MAX_TOOLS });
            }
            match page.next {
                Some(next) => cursor = Some(next),
                None => return Ok(tools),
            }
        }
    }

    /// Waits for the next event, from now on, that may have cost an answer.
    pub(crate) fn next_trouble(&self) -> impl Future<Output = OutputTrouble> + use<> {
        let mut heard = self.heard.clone();
        let before = *heard.borrow_and_update();
        async move {
            let trouble = heard.wait_for(|heard| heard.since(before).is_some()).await;
            trouble.ok().and_then(|heard| heard.since(before)).unwrap_or(OutputTrouble::Ended)
        }
    }

    pub(crate) fn trouble(&self, trouble: &OutputTrouble) -> McpError {
        let server = self.server.clone();
        match trouble {
            OutputTrouble::TooLong => McpError::LineTooLong { server, limit: MAX_LINE_BYTES },
            OutputTrouble::Unreadable => McpError::Unreadable { server },
            OutputTrouble::Ended => McpError::Ended { server, said: self.words.text() },
        }
    }

    pub(crate) fn error(&self, error: &ServiceError) -> McpError {
        if let Some(watch) = &self.remote {
            return session_error(&self.server, watch, error);
        }
        if matches!(error, ServiceError::TransportClosed | ServiceError::TransportSend(_)) {
            return McpError::Ended { server: self.server.clone(), said: self.words.text() };
        }
        failed(&self.server, &error.to_string())
    }

    pub(crate) fn tool_error(&self, error: &ServiceError) -> ToolError {
        ToolError::failed(self.error(error).to_string())
    }
}

/// Waits for an answer, for at most the given time; while a person logs in, the wait starts anew.
pub(crate) async fn within<T>(
    server: &Text,
    remote: Option<&RemoteWatch>,
    request: &'static str,
    after: Duration,
    answer: impl Future<Output = T>,
) -> Result<T, McpError> {
    let mut answer = pin!(answer);
    loop {
        if let Ok(answer) = timeout(after, &mut answer).await {
            return Ok(answer);
        }
        if !remote.is_some_and(RemoteWatch::is_asking) {
            let (server, said) = (server.clone(), String::new());
            return Err(McpError::TimedOut { server, request, after, said });
        }
    }
}

pub(crate) fn failed(server: &Text, message: &str) -> McpError {
    let message = message.chars().take(MAX_MESSAGE).collect();
    McpError::Failed { server: server.clone(), message }
}

impl fmt::Debug for ServerSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Session").field("server", &self.server).finish_non_exhaustive()
    }
}
