//! Answers to approval requests, from outside a run.

use std::{fmt, sync::Arc};

use super::{
    Caller, Decision, Steering,
    control::{Control, RunEnd},
    open_requests::Requested,
    tools::ToolError,
};
use crate::types::{AgentError, ApprovalRequest, ErrorCode, Text};

/// A handle that answers the approval requests of a run or of a started agent. Clones answer the same requests. See
/// [`RunStream::approvals`](super::RunStream::approvals) and [`AgentChannels::approval`](super::AgentChannels).
///
/// A request is an [event](crate::types::AgentEvent::ToolApprovalRequest), and is answered once by its id, which identifies the run, the call and its
/// arguments. An answer after the time limit, a second answer, and an answer for another run are errors and change nothing.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{ApprovalPolicy, Decision, DefaultAgent, tools::Calculator},
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::AgentEvent,
/// };
/// use serde_json::json;
///
/// let turn = ScriptedTurn::new().call("calculator", json!({ "expression": "6 * 7" }));
/// let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("It is 42.")]);
/// let agent = DefaultAgent::builder(provider)
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
pub struct Approvals(RunEnd);

impl Approvals {
    pub(super) fn of_run(steering: Steering) -> Self {
        Self(RunEnd::Run(steering))
    }

    pub(super) fn of_agent(control: Arc<Control>) -> Self {
        Self(RunEnd::Agent(control))
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::InvalidInput`] if changed arguments do not fit the tool (the request stays open), or if there is no such request: it was
    /// answered, withdrawn, or never made. Returns [`ErrorCode::Shutdown`] if the agent has ended.
    pub fn answer(&self, approval_id: &str, decision: Decision) -> Result<(), AgentError> {
        let answered = match self.0.run()? {
            Some(run) => run.answer(approval_id, decision).map_err(|error| unfit(&error))?,
            None => false,
        };
        if answered {
            return Ok(());
        }
        let message = format!(
            "no request for approval `{approval_id}` is open: it was answered or withdrawn, or there was none"
        );
        Err(AgentError::new(ErrorCode::InvalidInput, message))
    }

    /// Checks that a decision fits an open request, without answering it.
    #[cfg(feature = "server")]
    pub(crate) fn check(&self, approval_id: &str, decision: &Decision) -> Result<(), AgentError> {
        let Some(run) = self.0.run()? else { return Ok(()) };
        run.check_decision(approval_id, decision).map_err(|error| unfit(&error))
    }

    /// Returns `true` unless the tool of an open request is one that this caller may not [use](super::Permissions): a caller that may not use a tool may
    /// not decide about it, either. The request stays open.
    #[must_use]
    pub fn may_answer(&self, approval_id: &str, caller: &Caller) -> bool {
        self.0.run().ok().flatten().is_none_or(|run| run.lets(approval_id, caller))
    }

    /// Returns the open requests, in the order in which they were made.
    #[must_use]
    pub fn open(&self) -> Vec<ApprovalRequest> {
        let run = self.0.run().ok().flatten();
        run.map(|run| run.open_requests()).unwrap_or_default()
    }
}

fn unfit(problem: &ToolError) -> AgentError {
    let message = format!("the arguments do not fit: {problem}");
    AgentError::new(ErrorCode::InvalidInput, message)
}

impl Requested for ApprovalRequest {
    fn request_id(&self) -> &Text {
        &self.approval_id
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Approvals").finish_non_exhaustive()
    }
}
