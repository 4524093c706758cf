//! The session with one server.

use std::{fmt, future::Future, pin::pin, sync::Arc, time::Duration};

use rmcp::{
    ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequests,
        InputResponses, JsonObject, PaginatedRequestParams, ProtocolVersion, ServerResult,
        Tool as Listed,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, RoleClient, RunningService, serve_client,
        serve_client_with_lifecycle,
    },
    transport::{async_rw::AsyncRwTransport, streamable_http_client::StreamableHttpClient},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::{sleep, timeout},
};

use super::{
    McpError, McpOptions, McpServer,
    client::Client,
    lines::{Heard, Lines, MAX_LINE_BYTES, Trouble},
    process,
    remote::{Connection, McpRemote, Watch, connect},
};
use crate::{
    agent::tools::{ToolContext, ToolError, process_group::ProcessGroup},
    types::Text,
};

/// Longest wait for the greeting of a server.
const START_TIMEOUT: Duration = Duration::from_secs(6);

/// Longest wait for the whole list of a server's tools.
const LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// Longest wait for a remote server to hear of the end.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Most tools of one server.
const MAX_TOOLS: usize = 1_000;

/// Most times that a server asks for input before one result.
const MAX_ROUNDS: u32 = 10;

/// The pause before a server is asked again that wants nothing else.
const PAUSE: Duration = Duration::from_millis(200);

/// Most characters of a server's own message in an error.
const MAX_MESSAGE: usize = 500;

/// A session, which ends when it is dropped.
pub(super) struct Session {
    server: Text,
    client: Client,
    service: RunningService<RoleClient, Client>,
    /// `None` when the server is not reached over HTTP.
    remote: Option<Arc<Watch>>,
    /// What is known of the server's output.
    heard: watch::Receiver<Heard>,
    /// `None` when the server is not a process of ours.
    _group: Option<ProcessGroup>,
}

impl Session {
    /// Starts a server and greets it.
    pub(super) async fn start(server: &McpServer, options: &McpOptions) -> Result<Self, McpError> {
        if let Some(remote) = &server.remote {
            return Self::remote(server.name.clone(), options, remote).await;
        }
        let (group, output, input) = process::start(server).map_err(|error| {
            McpError::NotStarted { server: server.name.clone(), reason: error.kind().to_string() }
        })?;
        Self::over(server.name.clone(), options, output, input, Some(group)).await
    }

    /// Greets a server that is reached over HTTP.
    async fn remote(
        server: Text,
        options: &McpOptions,
        remote: &McpRemote,
    ) -> Result<Self, McpError> {
        Self::over_http(server.clone(), options, &|| {
            connect(&server, remote, &options.login).map_err(|reason| failed(&server, &reason))
        })
        .await
    }

    /// Greets the server at the other end of a transport, of the newest or of an older version of the protocol.
    pub(super) async fn over_http<C: StreamableHttpClient + Sync>(
        server: Text,
        options: &McpOptions,
        connect: &(dyn Fn() -> Result<Connection<C>, McpError> + Sync),
    ) -> Result<Self, McpError> {
        let client = Client::new(server.clone(), options.clone());
        let greet = async |lifecycle| {
            let (transport, watch) = connect()?;
            let greeting = serve_client_with_lifecycle(client.clone(), transport, lifecycle);
            let greeted = within(&server, Some(&watch), "initialize", START_TIMEOUT, greeting);
            Ok::<_, McpError>((greeted.await?, watch))
        };
        let legacy_version = Some(ProtocolVersion::V_2025_11_25);
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        let newest = ClientLifecycleMode::Auto { preferred_versions, legacy_version };
        let (mut service, mut watch) = greet(newest).await?;
        if matches!(service, Err(ClientInitializeError::ExpectedInitResult(_))) {
            // An older server that says yes to what it does not know.
            (service, watch) = greet(ClientLifecycleMode::Initialize).await?;
        }
        let service = service.map_err(|error| remote_failed(&server, &watch, &error))?;
        let heard = watch.heard();
        Ok(Self { server, client, service, remote: Some(watch), heard, _group: None })
    }

    /// Ends the session, and waits until a remote server has heard of it, for a bounded time.
    pub(super) async fn close(&self) {
        self.service.cancellation_token().cancel();
        if let Some(watch) = &self.remote {
            // A server that does not answer ends the session by itself.
            let _late = timeout(END_TIMEOUT, watch.ended()).await;
        }
    }

    /// Greets the server at the other end.
    pub(super) async fn over(
        server: Text,
        options: &McpOptions,
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
        group: Option<ProcessGroup>,
    ) -> Result<Self, McpError> {
        let (output, heard) = Lines::new(output);
        let client = Client::new(server.clone(), options.clone());
        let transport = AsyncRwTransport::new(output, input).with_max_line_length(MAX_LINE_BYTES);
        let greeting = serve_client(client.clone(), transport);
        let greeted = within(&server, None, "initialize", START_TIMEOUT, greeting);
        let service = greeted.await?.map_err(|error| failed(&server, &error.to_string()))?;
        Ok(Self { server, client, service, remote: None, heard, _group: group })
    }

    /// Returns `true` once the server can answer nothing more.
    pub(super) fn has_ended(&self) -> bool {
        let has_ended = self.heard.borrow().has_ended;
        has_ended || self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Returns `true` for a server that is reached over HTTP.
    pub(super) fn is_remote(&self) -> bool {
        self.remote.is_some()
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

    /// Calls a tool, as often as the server asks for input first. A call that is cancelled or dropped is cancelled at the
    /// server.
    pub(super) async fn call(
        &self,
        name: String,
        arguments: JsonObject,
        context: &ToolContext,
    ) -> Result<CallToolResult, ToolError> {
        let mut params = CallToolRequestParams::new(name).with_arguments(arguments);
        for _ in 0..MAX_ROUNDS {
            match self.round(params.clone(), context).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                // Some servers leave out what they have none of.
                ServerResult::EmptyResult(_) => return Ok(CallToolResult::default()),
                ServerResult::InputRequiredResult(required) => {
                    params.request_state = required.request_state;
                    params.input_responses = match required.input_requests {
                        Some(requests) => Some(self.inputs(requests, context).await?),
                        None => self.pause(context).await?,
                    };
                }
                _ => return Err(self.tool_error(&ServiceError::UnexpectedResponse)),
            }
        }
        let server = &self.server;
        let message = format!(
            "the MCP server `{server}` asked for input {MAX_ROUNDS} times and has no result"
        );
        Err(ToolError::failed(message))
    }

    /// Answers the requests of a result that asks for input, unless the call is cancelled.
    async fn inputs(
        &self,
        requests: InputRequests,
        context: &ToolContext,
    ) -> Result<InputResponses, ToolError> {
        tokio::select! {
            biased;
            () = context.cancelled().cancelled() => Err(ToolError::Cancelled { abandoned: false }),
            inputs = self.client.inputs(requests, context) => inputs,
        }
    }

    /// Gives the server time: it wants to be asked again, and nothing else.
    async fn pause<T>(&self, context: &ToolContext) -> Result<Option<T>, ToolError> {
        tokio::select! {
            biased;
            () = context.cancelled().cancelled() => Err(ToolError::Cancelled { abandoned: false }),
            () = sleep(PAUSE) => Ok(None),
        }
    }

    /// Sends a call once, and waits for what the server says to it.
    async fn round(
        &self,
        params: CallToolRequestParams,
        context: &ToolContext,
    ) -> Result<ServerResult, ToolError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mut heard = self.heard.clone();
        let before = *heard.borrow_and_update();
        let cancel = context.cancelled();
        let cancelled = || ToolError::Cancelled { abandoned: false };
        let sent = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            sent = self.client.calls().send(self.service.peer(), request, context.run_id()) => sent,
        };
        let (mut waiting, mut inbox) = sent.map_err(|error| self.tool_error(&error))?;
        let trouble = async {
            let trouble = heard.wait_for(|heard| heard.since(before).is_some()).await;
            trouble.ok().and_then(|heard| heard.since(before)).unwrap_or(Trouble::Ended)
        };
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            // Before the answer: what was said before it.
            never = self.client.serve(&mut inbox, context) => match never {},
            answer = waiting.answer() => answer,
            trouble = trouble => return Err(ToolError::failed(self.trouble(&trouble).to_string())),
        };
        answer.map_err(|error| match heard.borrow().since(before) {
            // What ended the wait of a remote server's answer.
            Some(Trouble::TooLong) => {
                ToolError::failed(self.trouble(&Trouble::TooLong).to_string())
            }
            _ => self.tool_error(&error),
        })
    }

    fn trouble(&self, trouble: &Trouble) -> McpError {
        let server = self.server.clone();
        match trouble {
            Trouble::TooLong => McpError::LineTooLong { server, limit: MAX_LINE_BYTES },
            Trouble::Ended => McpError::Ended { server },
        }
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
