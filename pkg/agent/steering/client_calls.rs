//! Results of calls at the client, from outside a run.

use std::{fmt, sync::Arc};

use super::{
    open_requests::OpenRequests,
    request_kind::RequestKind,
    requests::Requests,
    session_control::SessionControl,
    steering_handle::{QueuedKind, Steering, SteeringQueue},
};
use crate::run::Caller;
use forgeline_types::{AgentError, ClientReturn, ClientToolRequest, Text};

const NO_RESULT: &str =
    "the user moved on to something else before the client had a result; the call may have run";

/// A handle that gives the results of calls at the client, for a run or a started agent. Clones give results of the same calls. See
/// [`RunStream::client_calls`](crate::RunStream::client_calls) and [`AgentChannels::client_calls`](crate::channels::AgentChannels).
///
/// A call is an [event](forgeline_types::AgentEvent::ClientToolRequest), and is completed once by its id, which identifies the run, the call and its
/// arguments. A result after the time limit, a second result, and a result for another run are errors and change nothing.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{Agent, channels::AgentChannels, tools::ClientTool},
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::AgentEvent,
/// };
/// use serde_json::json;
///
/// let turn = ScriptedTurn::new().call("page.title", json!({}));
/// let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("You are at home.")]);
/// let schema = json!({ "type": "object", "properties": {} });
/// let tool = ClientTool::new("page.title", "Returns the title of the page.", schema);
/// let (handle, channels) = Agent::builder(provider).tool(tool).build()?.start();
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
pub struct ClientCalls(Requests<ClientToolRequest>);

impl ClientCalls {
    pub(crate) fn of_run(steering: Steering) -> Self {
        Self(Requests::of_run(steering))
    }

    pub(crate) fn of_agent(control: Arc<SessionControl>) -> Self {
        Self(Requests::of_agent(control))
    }

    /// Gives the result of a call.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::InvalidInput`](forgeline_types::ErrorCode::InvalidInput) if the call is not at the client: it was completed or cancelled, or never was there. Returns
    /// [`ErrorCode::Shutdown`](forgeline_types::ErrorCode::Shutdown) if the agent has ended.
    pub fn complete(
        &self,
        client_call_id: &str,
        result: impl Into<ClientReturn>,
    ) -> Result<(), AgentError> {
        self.0.answer(client_call_id, result.into())
    }

    /// Returns `true` unless the tool of an open call is one that this caller may not [use](crate::access::Permissions): a caller that may not use a tool may not
    /// give its result, either. The call stays open.
    #[must_use]
    pub fn may_complete(&self, client_call_id: &str, caller: &Caller) -> bool {
        self.0.may_answer(client_call_id, caller)
    }

    /// Returns the calls at the client, in the order in which they were sent, without completing them.
    #[must_use]
    pub fn open(&self) -> Vec<ClientToolRequest> {
        self.0.open()
    }
}

impl RequestKind for ClientToolRequest {
    type Answer = ClientReturn;

    const UNFIT: &'static str = "the result does not fit";

    fn request_id(&self) -> &Text {
        &self.client_call_id
    }

    fn not_open(id: &str) -> String {
        format!("no call `{id}` is at the client: it was completed or cancelled, or there was none")
    }

    fn refusal() -> ClientReturn {
        ClientReturn::failed(forgeline_types::ClientFailure::ToolThrew, NO_RESULT)
    }
}

impl QueuedKind for ClientToolRequest {
    fn of_queue(queue: &SteeringQueue) -> &OpenRequests<Self> {
        &queue.at_client
    }

    fn of_queue_mut(queue: &mut SteeringQueue) -> &mut OpenRequests<Self> {
        &mut queue.at_client
    }
}

impl fmt::Debug for ClientCalls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClientCalls").finish_non_exhaustive()
    }
}
