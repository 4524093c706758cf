//! The work of a sub-agent.

use std::sync::Arc;

use tokio_util::sync::DropGuard;
use tracing::Instrument as _;

use super::{SubAgent, recent::recent, result_tool::AgentResult};
use crate::{
    RunInput,
    access::HostAudit,
    default_agent::Conversation,
    nesting::{self, AgentFamily, BudgetDraw, ParentContext, ParentWait, SubAgentResult},
    notice::SubAgentEvent,
    run::Budget,
    steering::{CallAbove, QuestionDesk},
    streams::RunStream,
    tools::{Tool as _, ToolContext, ToolError, ToolOutput},
};
use forgeline_types::{AgentError, ErrorCode, TextOrigin};

/// A task ready to be run.
struct ReadyTask {
    conversation: Conversation,
    input: RunInput,
    /// `true` when the parent run continues meanwhile.
    background: bool,
}

impl SubAgent {
    /// Runs a task to its end, in a slot.
    pub(super) async fn work(self, context: ToolContext, task: String) -> SubAgentResult {
        let (above, inherited) = (nesting::family(), nesting::above());
        let draw = inherited.draw.clone();
        let family = AgentFamily::below(above.as_deref(), self.max_depth, &self.places, draw)?;
        let family = Arc::new(family.of_call(inherited.call.clone()));
        let waiting = ParentWait::begin(above);
        let stop = context.cancelled().clone();
        let result = if family.begin(&stop).await {
            let draw = inherited.draw.as_ref();
            let budget = draw.map_or(self.budget, |draw| draw.take(self.budget));
            let run = self.run(context, inherited, budget, task);
            let result = nesting::as_child(Arc::clone(&family), run).await;
            family.end();
            result
        } else {
            Err(ToolError::Cancelled { abandoned: false })
        };
        drop(waiting);
        result
    }

    async fn run(
        &self,
        context: ToolContext,
        above: ParentContext,
        budget: Budget,
        task: String,
    ) -> SubAgentResult {
        let ready = self.ready(&context, &above, budget, task)?;
        self.finish(ready, context, above).await
    }

    /// Starts a task in the background.
    pub(super) fn begin(self, context: ToolContext, task: String) -> SubAgentResult {
        let (above, inherited) = (nesting::family(), nesting::above());
        let Some(draw) = inherited.draw.clone() else {
            return Err(self.failed("there is no run for it to work in the background of"));
        };
        let own = Some(draw.clone());
        let family = AgentFamily::below(above.as_deref(), self.max_depth, &self.places, own)?;
        let budget = draw.take_beside(self.budget);
        let begun = self.ready(&context, &inherited, budget, task).and_then(|mut ready| {
            ready.background = true;
            self.begin_ready(ready, context, (inherited, family), &draw)
        });
        if begun.is_err() {
            draw.give_back();
        }
        begun
    }

    fn begin_ready(
        &self,
        ready: ReadyTask,
        context: ToolContext,
        (inherited, family): (ParentContext, AgentFamily),
        draw: &BudgetDraw,
    ) -> SubAgentResult {
        let stop = context.cancelled().child_token();
        let context = context.stopped_by(stop.clone());
        // The parent run does not wait for it; its waits stop its own time limit.
        let (id, desk) = (self.name.clone(), Arc::new(QuestionDesk::new(None, self.timeout)));
        let family = Arc::new(family.of_call(Some(CallAbove::new(&desk, &id))));
        let (this, own, told) = (self.clone(), draw.clone(), stop.clone());
        let work = async move {
            let work = async {
                if !family.begin(&told).await {
                    return Err(ToolError::Cancelled { abandoned: false });
                }
                let mut ready = ready;
                ready.input.budget = own.within_time(ready.input.budget);
                this.check(&ready.input.budget)?;
                let run = this.finish(ready, context, inherited);
                nesting::as_child(Arc::clone(&family), run).await
            };
            let ended = tokio::select! {
                biased;
                ended = work => ended,
                () = desk.worked(&id, this.timeout) => {
                    Err(ToolError::TimedOut { after: this.timeout })
                }
            };
            family.end();
            own.give_back();
            ended
        };
        let handle = draw.begin(&self.name, stop, nesting::carried(work).in_current_span())?;
        Ok(ToolOutput::new(format!(
            "The agent `{handle}` works in the background, until the end of this run. Continue \
             with other work, and call `{}` for its report before you answer.",
            AgentResult::name_for(self.name()),
        )))
    }

    /// Checks that some budget is left.
    fn check(&self, budget: &Budget) -> Result<(), ToolError> {
        let none = |limit| Err(self.failed(&format!("nothing is left of `{limit}`")));
        budget.zero().map_or(Ok(()), none)
    }

    /// Prepares an agent for a task.
    fn ready(
        &self,
        context: &ToolContext,
        above: &ParentContext,
        budget: Budget,
        task: String,
    ) -> Result<ReadyTask, ToolError> {
        self.check(&budget)?;
        let mut input = RunInput::from(task).budget(budget);
        input.context = context.run().clone();
        let audited = above.audit.clone().map(|HostAudit(sink)| self.agent.audited_by(sink));
        let conversation = audited.as_ref().unwrap_or(&self.agent).conversation();
        conversation.0.add_outside(&above.outside);
        if let Some(memory) = above.memory.as_ref().filter(|_| self.recent > 0) {
            let messages = recent(memory.lock().transcript().messages(), self.recent);
            let mut own = conversation.0.memory.lock();
            for message in messages {
                own.add(message);
            }
        }
        Ok(ReadyTask { conversation, input, background: false })
    }

    /// Runs a task to its end, and passes on its events.
    async fn finish(
        &self,
        ready: ReadyTask,
        context: ToolContext,
        above: ParentContext,
    ) -> SubAgentResult {
        let ReadyTask { conversation, input, background } = ready;
        let cancel = context.cancelled().child_token();
        let _stopped: DropGuard = cancel.clone().drop_guard();
        let mut stream =
            RunStream::below(Arc::clone(&conversation.0), input, cancel, above.steering.as_ref());
        while let Some(envelope) = stream.next().await {
            let event = SubAgentEvent {
                parent_run_id: context.run_id().into(),
                call_id: context.call_id().into(),
                tool_name: self.name.clone(),
                background,
                envelope,
            };
            if let Some(event) = event.into_event() {
                context.send(|| event).await;
            }
        }
        let is_stopped = |error: &AgentError| {
            error.code == ErrorCode::Cancelled && context.cancelled().is_cancelled()
        };
        let outcome = stream.outcome().await.map_err(|failed| match &failed.error {
            error if is_stopped(error) => ToolError::Cancelled { abandoned: false },
            error => self.failed(&words(&conversation, error)),
        })?;
        let output = ToolOutput::new(self.report(outcome)?);
        let is_outside = conversation.has_outside_text();
        Ok(if is_outside { output.origin(TextOrigin::Outside) } else { output })
    }
}

/// Returns the message of a failure. Messages that may come from a server are withheld: a failure
/// does not record the origin of its text.
fn words(conversation: &Conversation, error: &AgentError) -> String {
    let is_own = matches!(
        error.code,
        ErrorCode::MaxTurns
            | ErrorCode::Budget
            | ErrorCode::Timeout
            | ErrorCode::Cancelled
            | ErrorCode::CircuitBreaker
            | ErrorCode::Deadlock
    );
    let may_be_outside =
        conversation.has_outside_text() || !conversation.0.parts.sources.is_empty();
    if is_own || !may_be_outside {
        return error.to_string();
    }
    format!("its error is withheld, as it may have text from outside ({:?})", error.code)
}
