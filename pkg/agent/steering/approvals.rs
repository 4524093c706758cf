//! Answers to approval requests, from outside a run.

use std::{fmt, sync::Arc};

use super::{
    answer_gate::AnswerGate,
    open_requests::OpenRequests,
    request_kind::RequestKind,
    requests::Requests,
    session_control::SessionControl,
    steering_handle::{QueuedKind, Steering, SteeringQueue},
};
use crate::{approval::Decision, run::Caller, tools::ToolError};
use forgeline_types::{AgentError, ApprovalRequest, Text};

/// A handle that answers the approval requests of a run or of a started agent. Clones answer the same requests. See
/// [`RunStream::approvals`](crate::RunStream::approvals) and [`AgentChannels::approval`](crate::channels::AgentChannels).
///
/// A request is an [event](forgeline_types::AgentEvent::ToolApprovalRequest), and is answered once by its id, which identifies the run, the call and its
/// arguments. An answer after the time limit, a second answer, and an answer for another run are errors and change nothing.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{
///         Agent,
///         approval::{ApprovalPolicy, Decision},
///         tools::Calculator,
///     },
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::AgentEvent,
/// };
/// use serde_json::json;
///
/// let turn = ScriptedTurn::new().call("calculator", json!({ "expression": "6 * 7" }));
/// let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("It is 42.")]);
/// let agent = Agent::builder(provider)
///     .tool(Calculator)
///     .approval(ApprovalPolicy::Always)
///     .build()?;
/// let mut stream = agent.run_stream("What is 6 * 7?");
/// let approvals = stream.approvals();
/// while let Some(envelope) = stream.next().await {
///     if let AgentEvent::ToolApprovalRequest(request) = envelope.event {
///         assert_eq!(request.arguments.as_str(), r#"{"expression":"6 * 7"}"#);
///         approvals.answer(&request.approval_id, Decision::Grant)?;
///         assert!(approvals.answer(&request.approval_id, Decision::Grant).is_err());
///     }
/// }
/// assert_eq!(stream.outcome().await?.text, "It is 42.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Approvals(Requests<ApprovalRequest>);

impl Approvals {
    pub(crate) fn of_run(steering: Steering) -> Self {
        Self(Requests::of_run(steering))
    }

    pub(crate) fn of_agent(control: Arc<SessionControl>) -> Self {
        Self(Requests::of_agent(control))
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::InvalidInput`](forgeline_types::ErrorCode::InvalidInput) if changed arguments do not fit the tool (the request stays open), or if there is no such request: it was
    /// answered, withdrawn, or never made. Returns [`ErrorCode::Shutdown`](forgeline_types::ErrorCode::Shutdown) if the agent has ended.
    pub fn answer(&self, approval_id: &str, decision: Decision) -> Result<(), AgentError> {
        self.0.answer(approval_id, decision)
    }

    /// Checks that a decision fits an open request, without answering it.
    #[doc(hidden)]
    pub fn check(&self, approval_id: &str, decision: &Decision) -> Result<(), AgentError> {
        self.0.check(approval_id, decision)
    }

    /// Returns `true` unless the tool of an open request is one that this caller may not [use](crate::access::Permissions): a caller that may not use a tool may
    /// not decide about it, either. The request stays open.
    #[must_use]
    pub fn may_answer(&self, approval_id: &str, caller: &Caller) -> bool {
        self.0.may_answer(approval_id, caller)
    }

    /// Returns the open requests, in the order in which they were made.
    #[must_use]
    pub fn open(&self) -> Vec<ApprovalRequest> {
        self.0.open()
    }
}

impl RequestKind for ApprovalRequest {
    type Answer = Decision;

    const UNFIT: &'static str = "the arguments do not fit";

    fn request_id(&self) -> &Text {
        &self.approval_id
    }

    fn not_open(id: &str) -> String {
        format!(
            "no request for approval `{id}` is open: it was answered or withdrawn, or there was none"
        )
    }

    fn check(gate: &AnswerGate, decision: &Decision) -> Result<(), ToolError> {
        let Decision::GrantChanged { arguments } = decision else { return Ok(()) };
        gate.check(arguments)
    }

    fn refusal() -> Decision {
        Decision::reject("the user moved on to something else")
    }
}

impl QueuedKind for ApprovalRequest {
    fn of_queue(queue: &SteeringQueue) -> &OpenRequests<Self> {
        &queue.asked
    }

    fn of_queue_mut(queue: &mut SteeringQueue) -> &mut OpenRequests<Self> {
        &mut queue.asked
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Approvals").finish_non_exhaustive()
    }
}
