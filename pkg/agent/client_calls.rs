//! Results of calls at the client, from outside a run.

use std::{fmt, sync::Arc};

use super::{
    Caller, Steering,
    control::{Control, RunEnd},
    open_requests::Requested,
};
use crate::types::{AgentError, ClientReturn, ClientToolRequest, ErrorCode, Text};

/// A handle that gives the results of calls at the client, for a run or a started agent. Clones give results of the same calls. See
/// [`RunStream::client_calls`](super::RunStream::client_calls) and [`AgentChannels::client_calls`](super::AgentChannels).
///
/// A call is an [event](crate::types::AgentEvent::ClientToolRequest), and is completed once by its id, which identifies the run, the call and its
/// arguments. A result after the time limit, a second result, and a result for another run are errors and change nothing.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{AgentChannels, DefaultAgent, tools::ClientTool},
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::AgentEvent,
/// };
/// use serde_json::json;
///
/// let turn = ScriptedTurn::new().call("page.title", json!({}));
/// let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("You are at home.")]);
/// let schema = json!({ "type": "object", "properties": {} });
/// let tool = ClientTool::new("page.title", "Returns the title of the page.", schema);
/// let (handle, channels) = DefaultAgent::builder(provider).tool(tool).build()?.start();
/// let AgentChannels { input, mut events, client_calls, .. } = channels;
/// input.send("Where am I?").await?;
/// while let Some(envelope) = events.recv().await {
///     match envelope.event {
///         AgentEvent::ClientToolRequest(request) => {
///             client_calls.complete(&request.client_call_id, "Home")?;
///             assert!(client_calls.complete(&request.client_call_id, "Home").is_err());
///         }
///         AgentEvent::TurnEnd => break,
///         _ => {}
///     }
/// }
/// handle.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ClientCalls(RunEnd);

impl ClientCalls {
    pub(super) fn of_run(steering: Steering) -> Self {
        Self(RunEnd::Run(steering))
    }

    pub(super) fn of_agent(control: Arc<Control>) -> Self {
        Self(RunEnd::Agent(control))
    }

    /// Gives the result of a call.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::InvalidInput`] if the call is not at the client: it was completed or cancelled, or never was there. Returns
    /// [`ErrorCode::Shutdown`] if the agent has ended.
    pub fn complete(
        &self,
        client_call_id: &str,
        result: impl Into<ClientReturn>,
    ) -> Result<(), AgentError> {
        let run = self.0.run()?;
        if run.is_some_and(|run| run.complete_client_call(client_call_id, result.into())) {
            return Ok(());
        }
        let message = format!(
            "no call `{client_call_id}` is at the client: it was completed or cancelled, or there was none"
        );
        Err(AgentError::new(ErrorCode::InvalidInput, message))
    }

    /// Returns `true` unless the tool of an open call is one that this caller may not [use](super::Permissions): a caller that may not use a tool may not
    /// give its result, either. The call stays open.
    #[must_use]
    pub fn may_complete(&self, client_call_id: &str, caller: &Caller) -> bool {
        self.0.run().ok().flatten().is_none_or(|run| run.lets(client_call_id, caller))
    }

    /// Returns the calls at the client, in the order in which they were sent, without completing them.
    #[must_use]
    pub fn open(&self) -> Vec<ClientToolRequest> {
        let run = self.0.run().ok().flatten();
        run.map(|run| run.calls_at_client()).unwrap_or_default()
    }
}

impl Requested for ClientToolRequest {
    fn request_id(&self) -> &Text {
        &self.client_call_id
    }
}

impl fmt::Debug for ClientCalls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClientCalls").finish_non_exhaustive()
    }
}
