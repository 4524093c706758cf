//! The path of a call through a person's approval.

use std::{sync::Arc, time::Duration};

use tokio::time::{sleep, timeout};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{event_emitter::EventEmitter, guard::or_cancelled};
use crate::{
    approval::{ApprovalContext, ApprovalVerdict, decided, heard},
    nesting::within,
    run::RunContext,
    setup::AgentSetup,
    state::CallId,
    support::text,
    tools::{Tool, ToolContext},
};
use forgeline_types::{AgentEvent, ApprovalRequest, Json, Preview, Text};

/// A request ready to be shown, or the reason for which it cannot be shown.
pub(super) struct ApprovalProposal {
    pub(super) id: CallId,
    request: ApprovalRequest,
    shown: Result<(), ApprovalVerdict>,
    run: RunContext,
}

/// Makes the preview of a call within its time limit, as a separate task.
pub(super) async fn prepare(
    (parts, agent): (&AgentSetup, usize),
    tool: Option<Arc<dyn Tool>>,
    context: ToolContext,
    id: CallId,
    request: ApprovalRequest,
    halt: CancellationToken,
) -> Box<ApprovalProposal> {
    let (limit, run) = (parts.config.preview_timeout, context.run().clone());
    let made = preview(agent, tool, context, request.arguments.clone(), limit);
    let (shown, preview) = match or_cancelled(&halt, made).await {
        Some(Ok(preview)) => (Ok(()), preview),
        Some(Err(problem)) => (Err(ApprovalVerdict::NotShown(problem)), None),
        None => (Err(stopped()), None),
    };
    let request = request.preview(preview);
    Box::new(ApprovalProposal { id, request, shown, run })
}

/// Returns the verdict on a call of a run that was stopped before anybody decided.
fn stopped() -> ApprovalVerdict {
    ApprovalVerdict::Undecided { reason: "the run was stopped first".to_owned() }
}

async fn preview(
    agent: usize,
    tool: Option<Arc<dyn Tool>>,
    context: ToolContext,
    arguments: Json,
    limit: Duration,
) -> Result<Option<Preview>, String> {
    let Some(tool) = tool else { return Ok(None) };
    let stop = context.cancelled().clone();
    let _stopped_when_dropped = stop.drop_guard();
    let work = within(agent, async move { tool.preview(context, arguments).await });
    let task = AbortOnDropHandle::new(tokio::spawn(work));
    match timeout(limit, task).await {
        Ok(Ok(made)) => made.map_err(|error| error.to_string()),
        Ok(Err(failed)) => Err(failed.try_into_panic().map_or_else(
            |_| "the preview was stopped".to_owned(),
            |panic| format!("the preview panicked: {}", text(&*panic)),
        )),
        Err(_) => Err(format!("no preview after {limit:?}")),
    }
}

impl ApprovalProposal {
    pub(super) fn approval_id(&self) -> &Text {
        &self.request.approval_id
    }

    /// Returns the verdict for a call that cannot be shown, or that was shown otherwise by an earlier process.
    pub(super) fn refusal(&self, emitter: &EventEmitter) -> Option<ApprovalVerdict> {
        let changed = || emitter.has_shown_other(&self.request).then_some(ApprovalVerdict::Changed);
        self.shown.as_ref().err().cloned().or_else(changed)
    }

    /// Returns the digest of what the preview was made from.
    pub(super) fn digest(&self) -> Option<Text> {
        self.request.preview.as_ref()?.digest.clone()
    }

    /// Shows the request to everyone who may answer it; returns a future of the answer.
    pub(super) async fn show(
        self: Box<Self>,
        parts: &AgentSetup,
        emitter: &mut EventEmitter,
        halt: CancellationToken,
    ) -> impl Future<Output = ApprovalVerdict> + Send + use<> {
        let Self { request, run, .. } = *self;
        let gate = parts.answer_gate(&request.tool_name);
        let answer =
            emitter.steering().map(|steering| steering.open_request(request.clone(), gate));
        let approver = parts.approver.clone();
        let limit = parts.config.approval_timeout;
        let asked = ApprovalContext::new(request.clone(), run);
        let event = AgentEvent::ToolApprovalRequest(Box::new(request));
        emitter.emit_while_running(event).await;
        async move {
            let decided = async {
                tokio::select! {
                    biased;
                    decision = heard(answer) => decision,
                    decision = decided(approver, asked) => decision,
                }
            };
            tokio::select! {
                biased;
                () = halt.cancelled() => stopped(),
                decision = decided => decision.into(),
                () = sleep(limit) => ApprovalVerdict::TimedOut(limit),
            }
        }
    }
}
