//! Approvers, which answer approval requests.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::verdict::ApprovalVerdict;
use crate::{run::RunContext, support::text};
use forgeline_types::{ApprovalRequest, Json};

/// The answer to an approval request.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::approval::Decision, types::ApprovalRequest};
///
/// fn decide(request: &ApprovalRequest) -> Decision {
///     match &*request.tool_name {
///         "files_write" => Decision::Grant,
///         name => Decision::reject(format!("{name} is not allowed here")),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// The call runs.
    Grant,
    /// The call runs, and so do later calls of the tool in this conversation without asking; for tools with a [pattern](crate::tools::Tool::grant_pattern),
    /// only calls with the same pattern. A conversation that is stored keeps this in its journal.
    GrantAlways,
    /// The call runs with these arguments, if they fit the tool. The model is informed that they were changed.
    #[non_exhaustive]
    GrantChanged {
        /// The complete arguments.
        arguments: Json,
    },
    /// The call does not run: the user does not allow it.
    #[non_exhaustive]
    Reject {
        /// The reason, for the model; may be empty.
        reason: String,
    },
    /// The call does not run, without a decision: there is no one to ask, or the request was taken back.
    #[non_exhaustive]
    Unanswered {
        /// The reason, for the model.
        reason: String,
    },
}

impl Decision {
    /// Creates the approval of the call with these arguments in place of its own.
    #[must_use]
    pub fn grant_changed(arguments: Json) -> Self {
        Self::GrantChanged { arguments }
    }
}

impl Decision {
    /// Returns a rejection.
    #[must_use]
    pub fn reject(reason: impl Into<String>) -> Self {
        Self::Reject { reason: reason.into() }
    }

    /// Returns the end of a request without a decision; `reason` says who or what kept the call from running.
    #[must_use]
    pub fn unanswered(reason: impl Into<String>) -> Self {
        Self::Unanswered { reason: reason.into() }
    }
}

impl From<Decision> for ApprovalVerdict {
    fn from(decision: Decision) -> Self {
        let granted = |always, arguments| Self::Granted { always, arguments };
        match decision {
            Decision::Grant => granted(false, None),
            Decision::GrantAlways => granted(true, None),
            Decision::GrantChanged { arguments } => granted(false, Some(arguments)),
            Decision::Reject { reason } => Self::Rejected { reason },
            Decision::Unanswered { reason } => Self::Undecided { reason },
        }
    }
}

/// An object that answers approval requests: a dialog, a rule, a service.
///
/// It is asked for all runs of an agent, possibly about several calls at the same time. A reader of a run's events may answer as well, see
/// [`Approvals`](crate::steering::Approvals); the first answer counts. The wait ends after [`approval_timeout`](crate::config::AgentConfig::approval_timeout). An approver
/// that panics rejects.
///
/// # Examples
///
/// Functions are approvers:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{
///         Agent,
///         approval::Decision,
///         tools::{ToolContext, ToolEffects, tool_fn},
///     },
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
/// use serde_json::json;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Send {
///     to: String,
/// }
///
/// let send = tool_fn("mail.send", "Sends a mail.", async |_: ToolContext, it: Send| it.to)
///     .effects(ToolEffects::Irreversible);
/// let turn = ScriptedTurn::new().call("mail.send", json!({ "to": "all" }));
/// let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("I did not send it.")]);
/// let agent = Agent::builder(provider)
///     .tool(send)
///     .approver(|request: forgeline::agent::approval::ApprovalContext| async move {
///         let is_all = request.request.arguments.as_str().contains("all");
///         if is_all { Decision::reject("not to all") } else { Decision::Grant }
///     })
///     .build()?;
/// let outcome = agent.run("Tell all of them.").await?;
/// let results = outcome.messages[2].tool_results().next().unwrap();
/// assert!(results.is_error && results.content.contains("not to all"));
/// # Ok(())
/// # }
/// ```
pub trait Approver: Send + Sync {
    /// Decides about a call.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the run ends, or when another answer arrives first.
    fn decide(&self, asked: ApprovalContext) -> BoxFuture<'static, Decision>;
}

/// A request, and the run that it comes from.
///
/// # Examples
///
/// ```
/// use forgeline::agent::approval::{ApprovalContext, Decision};
///
/// let approver = async |asked: ApprovalContext| {
///     let is_known = asked.run.caller().is_some();
///     if is_known { Decision::Grant } else { Decision::reject("sign in first") }
/// };
/// # drop(approver);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApprovalContext {
    /// The call and its effects.
    pub request: ApprovalRequest,
    /// The context of the run, such as the caller it works for.
    pub run: RunContext,
}

impl ApprovalContext {
    pub(crate) fn new(request: ApprovalRequest, run: RunContext) -> Self {
        Self { request, run }
    }
}

impl<F, R> Approver for F
where
    F: Fn(ApprovalContext) -> R + Send + Sync,
    R: Future<Output = Decision> + Send + 'static,
{
    fn decide(&self, asked: ApprovalContext) -> BoxFuture<'static, Decision> {
        Box::pin(self(asked))
    }
}

/// Waits for an answer from outside the run.
pub(crate) async fn heard(answer: Option<oneshot::Receiver<Decision>>) -> Decision {
    if let Some(answer) = answer
        && let Ok(decision) = answer.await
    {
        return decision;
    }
    // The request was withdrawn, or has no reader.
    std::future::pending().await
}

/// Waits for the decision of the agent's approver.
pub(crate) async fn decided(
    approver: Option<Arc<dyn Approver>>,
    asked: ApprovalContext,
) -> Decision {
    let Some(approver) = approver else { return std::future::pending().await };
    let decision = AssertUnwindSafe(async { approver.decide(asked).await }).catch_unwind().await;
    decision.unwrap_or_else(|panic| {
        Decision::unanswered(format!("the approver panicked: {}", text(&*panic)))
    })
}
