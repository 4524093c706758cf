//! A call, from its request to its result.

use std::{convert::Infallible, future::pending, pin::pin, time::Duration};

use futures_util::FutureExt as _;
use rmcp::{
    ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequests,
        InputResponses, JsonObject, ServerResult,
    },
};
use tokio::time::sleep;

use super::server_session::ServerSession;
use forgeline_agent::tools::{ToolContext, ToolError};

/// Maximum number of times that a server may ask for input before one result.
pub(crate) const MAX_ROUNDS: u32 = 10;

/// The pause before repeating a call of a server that requests this and nothing else.
pub(crate) const PAUSE: Duration = Duration::from_millis(200);

impl ServerSession {
    /// Calls a tool, repeating the call each time that the server asks for input first. A cancelled
    /// or dropped call is cancelled at the server.
    pub(crate) async fn call(
        &self,
        name: String,
        arguments: JsonObject,
        context: &ToolContext,
    ) -> Result<CallToolResult, ToolError> {
        let mut params = CallToolRequestParams::new(name).with_arguments(arguments);
        for _ in 0..MAX_ROUNDS {
            let answer = self.round(params.clone(), context).await?;
            if let ServerResult::CallToolResult(result) = answer {
                return Ok(result);
            }
            // Some servers omit empty members.
            if matches!(answer, ServerResult::EmptyResult(_)) {
                return Ok(CallToolResult::default());
            }
            let ServerResult::InputRequiredResult(required) = answer else {
                return Err(self.tool_error(&ServiceError::UnexpectedResponse));
            };
            params.request_state = required.request_state;
            params.input_responses = match required.input_requests {
                Some(requests) => Some(self.inputs(requests, context).await?),
                None => self.pause(context).await?,
            };
        }
        let server = &self.server;
        let message = format!(
            "the MCP server `{server}` asked for input {MAX_ROUNDS} times and has no result"
        );
        Err(ToolError::failed(message))
    }

    /// Answers the requests in a result that asks for input, unless the call is cancelled.
    async fn inputs(
        &self,
        requests: InputRequests,
        context: &ToolContext,
    ) -> Result<InputResponses, ToolError> {
        tokio::select! {
            biased;
            () = context.cancelled().cancelled() => Err(ToolError::cancelled(false)),
            inputs = self.client.inputs(requests, Some(context)) => inputs,
        }
    }

    /// Gives the server time, when it asks for the call to be repeated and for nothing else.
    async fn pause<T>(&self, context: &ToolContext) -> Result<Option<T>, ToolError> {
        tokio::select! {
            biased;
            () = context.cancelled().cancelled() => Err(ToolError::cancelled(false)),
            () = sleep(PAUSE) => Ok(None),
        }
    }

    /// Excludes the time of logins from the time of the call.
    async fn logins(&self, context: &ToolContext) -> Infallible {
        let Some(watch) = &self.remote else { return pending().await };
        loop {
            watch.asking(true).await;
            if context.wait_for_person(watch.asking(false)).await.is_none() {
                // The call's own time limit applies again.
                watch.asking(false).await;
            }
        }
    }

    /// Sends a call once, and waits for the server's response.
    async fn round(
        &self,
        params: CallToolRequestParams,
        context: &ToolContext,
    ) -> Result<ServerResult, ToolError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mut trouble = pin!(self.next_trouble());
        let cancel = context.cancelled();
        let cancelled = || ToolError::cancelled(false);
        let sent = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            sent = self.client.calls().send(self.service.peer(), request, context.run_id()) => sent,
        };
        let (mut waiting, mut inbox) = sent.map_err(|error| self.tool_error(&error))?;
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            // Served before the answer, so that earlier messages are handled first.
            never = self.client.serve(&mut inbox, context) => match never {},
            never = self.logins(context) => match never {},
            answer = waiting.answer() => answer,
            trouble = &mut trouble => return Err(ToolError::failed(self.trouble(&trouble).to_string())),
        };
        answer.map_err(|error| match trouble.now_or_never() {
            Some(trouble) => ToolError::failed(self.trouble(&trouble).to_string()),
            None => self.tool_error(&error),
        })
    }
}
