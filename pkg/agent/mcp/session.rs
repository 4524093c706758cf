//! The session with one server.

use std::{fmt, future::Future, pin::pin, sync::Arc, time::Duration};

use rmcp::{
    ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, JsonObject,
        PaginatedRequestParams, ProtocolVersion, ServerResult, Tool as Listed,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, PeerRequestOptions, RoleClient, RunningService,
        serve_client, serve_client_with_lifecycle,
    },
    transport::async_rw::AsyncRwTransport,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    McpError, McpServer,
    lines::{Lines, MAX_LINE_BYTES},
    process,
    remote::{McpRemote, Watch, connect},
    waiting::Waiting,
};
use crate::{
    agent::tools::{ToolError, process_group::ProcessGroup},
    types::Text,
};

/// Longest wait for the greeting of a server.
const START_TIMEOUT: Duration = Duration::from_secs(6);

/// Longest wait for the whole list of a server's tools.
const LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// Most tools of one server.
const MAX_TOOLS: usize = 1_000;

/// Most characters of a server's own message in an error.
const MAX_MESSAGE: usize = 500;

/// A session, which ends when it is dropped.
pub(super) struct Session {
    server: Text,
    service: RunningService<RoleClient, ()>,
    /// Changes with each line of the server that is too long.
    too_long: watch::Receiver<()>,
    /// `None` when the server is not reached over HTTP.
    remote: Option<Arc<Watch>>,
    /// `None` when the server is not a process of ours.
    _group: Option<ProcessGroup>,
}

impl Session {
    /// Starts a server and greets it.
    pub(super) async fn start(server: &McpServer) -> Result<Self, McpError> {
        if let Some(remote) = &server.remote {
            return Self::remote(server.name.clone(), remote).await;
        }
        let (group, output, input) = process::start(server).map_err(|error| {
            McpError::NotStarted { server: server.name.clone(), reason: error.kind().to_string() }
        })?;
        Self::over(server.name.clone(), output, input, Some(group)).await
    }

    /// Greets a server that is reached over HTTP, of the newest or of an older version of the protocol.
    async fn remote(server: Text, remote: &McpRemote) -> Result<Self, McpError> {
        let (transport, watch) =
            connect(&server, remote).map_err(|reason| failed(&server, &reason))?;
        let versions = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        let greeting = serve_client_with_lifecycle((), transport, versions);
        let greeted = within(&server, Some(&watch), "initialize", START_TIMEOUT, greeting).await?;
        let service = greeted.map_err(|error| remote_failed(&server, &watch, &error))?;
        let too_long = watch.too_long();
        Ok(Self { server, service, too_long, remote: Some(watch), _group: None })
    }

    /// Greets the server at the other end.
    pub(super) async fn over(
        server: Text,
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
        group: Option<ProcessGroup>,
    ) -> Result<Self, McpError> {
        let (output, too_long) = Lines::new(output);
        let transport = AsyncRwTransport::new(output, input).with_max_line_length(MAX_LINE_BYTES);
        let greeted =
            within(&server, None, "initialize", START_TIMEOUT, serve_client((), transport));
        let service = greeted.await?.map_err(|error| failed(&server, &error.to_string()))?;
        Ok(Self { server, service, too_long, remote: None, _group: group })
    }

    /// Returns `true` once the server can answer nothing more.
    pub(super) fn has_ended(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Lists the tools of the server, all pages.
    pub(super) async fn tools(&self) -> Result<Vec<Listed>, McpError> {
        let remote = self.remote.as_deref();
        within(&self.server, remote, "tools/list", LIST_TIMEOUT, self.pages()).await?
    }

    async fn pages(&self) -> Result<Vec<Listed>, McpError> {
        let mut tools = Vec::new();
        let mut cursor = None;
        loop {
            let page = PaginatedRequestParams::default().with_cursor(cursor.take());
            let page = self.service.peer().list_tools(Some(page)).await;
            let page = page.map_err(|error| self.error(&error))?;
            tools.extend(page.tools);
            if tools.len() > MAX_TOOLS {
                let server = self.server.clone();
                return Err(McpError::TooManyTools { server, limit: MAX_TOOLS });
            }
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(tools),
            }
        }
    }

    /// Calls a tool. A call that is cancelled or dropped is cancelled at the server.
    pub(super) async fn call(
        &self,
        name: String,
        arguments: JsonObject,
        cancel: &CancellationToken,
    ) -> Result<CallToolResult, ToolError> {
        let request = CallToolRequestParams::new(name).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(request));
        let options = PeerRequestOptions::no_options();
        let mut too_long = self.too_long.clone();
        too_long.mark_unchanged();
        let cancelled = || ToolError::Cancelled { abandoned: false };
        let sent = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            sent = self.service.peer().send_cancellable_request(request, options) => sent,
        };
        let mut waiting = Waiting::new(sent.map_err(|error| self.tool_error(&error))?);
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            answer = waiting.answer() => answer,
            Ok(()) = too_long.changed() => {
                let server = self.server.clone();
                let error = McpError::LineTooLong { server, limit: MAX_LINE_BYTES };
                return Err(ToolError::failed(error.to_string()));
            }
        };
        let answer = answer.map_err(|error| self.tool_error(&error))?;
        if let ServerResult::CallToolResult(result) = answer {
            return Ok(result);
        }
        Err(self.tool_error(&ServiceError::UnexpectedResponse))
    }

    fn error(&self, error: &ServiceError) -> McpError {
        if let Some(watch) = &self.remote {
            return remote_error(&self.server, watch, error);
        }
        if matches!(error, ServiceError::TransportClosed | ServiceError::TransportSend(_)) {
            return McpError::Ended { server: self.server.clone() };
        }
        failed(&self.server, &error.to_string())
    }

    fn tool_error(&self, error: &ServiceError) -> ToolError {
        ToolError::failed(self.error(error).to_string())
    }
}

/// Waits for an answer, at most this long; while a person logs in, the wait begins anew.
async fn within<T>(
    server: &Text,
    remote: Option<&Watch>,
    request: &'static str,
    after: Duration,
    answer: impl Future<Output = T>,
) -> Result<T, McpError> {
    let mut answer = pin!(answer);
    loop {
        if let Ok(answer) = timeout(after, &mut answer).await {
            return Ok(answer);
        }
        if !remote.is_some_and(Watch::is_asking) {
            return Err(McpError::TimedOut { server: server.clone(), request, after });
        }
    }
}

/// Returns the error of a remote server in its session.
fn remote_error(server: &Text, watch: &Watch, error: &ServiceError) -> McpError {
    match error {
        ServiceError::TransportClosed => McpError::Ended { server: server.clone() },
        ServiceError::TransportSend(error) => refused(server, watch, &watch.words(error)),
        error => refused(server, watch, &watch.redacted(&error.to_string())),
    }
}

/// Returns the error of a remote server at its greeting.
fn remote_failed(server: &Text, watch: &Watch, error: &ClientInitializeError) -> McpError {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            remote_failed(server, watch, fallback)
        }
        ClientInitializeError::TransportError { error, .. } => {
            refused(server, watch, &watch.words(error))
        }
        error => refused(server, watch, &watch.redacted(&error.to_string())),
    }
}

fn refused(server: &Text, watch: &Watch, words: &str) -> McpError {
    match watch.refusal() {
        Some(reason) => McpError::NoAccess { server: server.clone(), reason },
        None => failed(server, words),
    }
}

fn failed(server: &Text, message: &str) -> McpError {
    let message = message.chars().take(MAX_MESSAGE).collect();
    McpError::Failed { server: server.clone(), message }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Session").field("server", &self.server).finish_non_exhaustive()
    }
}
