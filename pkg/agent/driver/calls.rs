//! The calls of an answer while they run, each as a separate task.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tracing::Instrument as _;

use super::{
    approval_proposal::{self, ApprovalProposal},
    at_client::OutgoingCall,
    event_emitter::EventEmitter,
    guard::{guard, or_cancelled},
    result::read_result,
    shared_agent::SharedAgent,
    spans,
};
use crate::{
    approval::{ApprovalAnswer, ApprovalVerdict},
    config::CallStart,
    nesting::{self, AgentFamily, BudgetDraw, BudgetPool, ParentContext, within_call},
    observe::CallEnd,
    prompts::{feedback, notes},
    run::{OutsideSources, RunContext},
    setup::AgentSetup,
    state::{CallFailure, CallId, FailureKind, ReturnedCall, RunState, StepInput, ToolEnd},
    steering::{CallAbove, DeskStage, QuestionDesk},
    support::elapsed_ms,
    tools::{CallPlace, ToolContext},
};
use forgeline_types::{
    AgentEvent, ApprovalReason, ApprovalRequest, Part, Repair, Text, ToolCall, ToolCallEvent,
};

/// Maximum number of tool events that wait to be passed on by the run.
const TOOL_EVENTS: usize = 16;

/// News about the calls of an answer.
pub(super) enum CallEvent {
    /// An event that a tool sent.
    Event(Box<AgentEvent>),
    /// The end of a call.
    Ended(CallId, Box<ToolEnd>),
    /// A call that needs a person's approval, with a preview of its effect.
    Proposed(Box<ApprovalProposal>),
    /// The answer to a request for approval.
    Decided(CallId, Box<ApprovalAnswer>),
    /// A call to be sent to the client.
    Outgoing(Box<OutgoingCall>),
    /// The end of a call at the client.
    Returned(CallId, Box<ReturnedCall>),
}

/// The part of a run's setup that its calls need.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct CallSite<'a> {
    pub(super) parts: &'a AgentSetup,
    pub(super) agent: &'a SharedAgent,
    /// `true` when calls go through the provider's function calling.
    pub(super) native: bool,
    /// `true` when found tools are called through a tool that is offered from the start.
    pub(super) indirect: bool,
}

impl CallSite<'_> {
    /// Lets a call read the conversation and the descriptions of the tools.
    fn reading(&self, context: ToolContext, run_state: &RunState) -> ToolContext {
        let (conversation, tools) = (Arc::clone(&self.agent.memory), Arc::clone(&self.parts.specs));
        context.reading(conversation, tools, run_state.prompt().withheld.clone())
    }
}

/// The running calls of one answer.
pub(super) struct RunningCalls<'a> {
    /// Tells the calls to stop.
    halt: CancellationToken,
    running: FuturesUnordered<BoxFuture<'a, CallEvent>>,
    site: CallSite<'a>,
    events_in: mpsc::Sender<Box<AgentEvent>>,
    events: mpsc::Receiver<Box<AgentEvent>>,
    /// The part of the budget reserved for sub-agents.
    purse: Arc<BudgetPool>,
    /// The means by which the calls ask people.
    desk: Arc<QuestionDesk>,
    /// The digests of the previews that were shown.
    shown: Vec<(CallId, Text)>,
}

impl<'a> RunningCalls<'a> {
    /// Returns the calls of a run, none of which is running yet; they end with the run.
    pub(super) fn for_answer(site: CallSite<'a>, emitter: &EventEmitter) -> Self {
        let halt = match site.parts.config.call_start {
            CallStart::AfterAnswer => emitter.cancel().clone(),
            CallStart::AsComplete => emitter.cancel().child_token(),
        };
        let (events_in, events) = mpsc::channel(TOOL_EVENTS);
        let limit = site.parts.config.approval_timeout;
        let desk = QuestionDesk::new(emitter.steering().cloned(), limit);
        let call = nesting::own_family().and_then(|family| family.call().cloned());
        let desk = desk.approved_by(site.parts.approver.clone()).below(call);
        let desk = Arc::new(desk);
        let purse = Arc::new(BudgetPool::asking_at(&desk));
        nesting::with_draw(|draw| draw.connect(&purse));
        let (running, shown) = (FuturesUnordered::new(), Vec::new());
        Self { halt, running, site, events_in, events, purse, desk, shown }
    }

    /// Tells the running calls to stop.
    pub(super) fn stop(&self) {
        self.halt.cancel();
    }

    /// Starts a call after its delay, as a task that ends with the run.
    pub(super) fn begin(
        &mut self,
        id: CallId,
        call: &ToolCall,
        run_state: &RunState,
        emitter: &EventEmitter,
    ) {
        let (pause, run) = (run_state.pause(id), run_state.context().clone());
        let outside = run_state.outside().clone();
        let steering = emitter.steering().cloned();
        self.purse.renew(run_state.left(self.desk.untaken()), run_state.open_calls());
        let draw = Some(BudgetDraw { purse: Arc::clone(&self.purse), call: id });
        let CallSite { parts, agent, .. } = self.site;
        let memory = Some(Arc::clone(&agent.memory));
        let asking = Some(CallAbove::new(&self.desk, &call.id));
        let audit = parts.host_audit.clone();
        let above = ParentContext { steering, outside, memory, draw, call: asking, audit };
        let entry = parts.tools.find(&call.name).zip(call.arguments.as_ref());
        let Some((entry, arguments)) = entry.filter(|_| !emitter.cancel().is_cancelled()) else {
            return self.refuse(id, not_run());
        };
        if let Some(end) = self.site.search(&call.name, arguments, run_state) {
            return self.end_search(id, end, emitter.cancel().clone());
        }
        let (tool, name) = (Arc::clone(entry.tool), call.name.clone());
        let limit = tool.timeout().unwrap_or(parts.config.tool_timeout);
        let able = parts.provider.info();
        let most = tool.max_result_chars().unwrap_or(parts.config.max_result_chars);
        let (call_id, arguments) = (call.id.clone(), arguments.clone());
        let span = spans::execute_tool(&name, &call_id);
        let place = CallPlace {
            run_id: emitter.run_id().clone(),
            turn: emitter.turn(),
            call_id,
            tool_name: name.clone(),
        };
        let cancel = self.halt.clone();
        let stop = cancel.child_token();
        let state = parts.state.clone();
        let context = ToolContext::new(place, stop.clone(), self.events_in.clone(), state, run);
        let context = self.site.reading(context, run_state);
        let (desk, own_id) = (Arc::clone(&self.desk), call.id.clone());
        let shown = self.shown.iter().find(|(shown, _)| *shown == id);
        let shown = shown.map(|(_, digest)| digest.clone());
        let context = context.asking(Arc::clone(&desk) as _).approved_as(shown);
        let (config, origin) = (&parts.config, tool.origin());
        let source = OutsideSources::name_of(tool.outside_source(), origin);
        let work =
            within_call(agent.key(), above, async move { tool.execute(context, arguments).await });
        let ended = span.clone();
        let start = move || {
            let task = tokio::spawn(work.instrument(span));
            (Instant::now(), AbortOnDropHandle::new(task))
        };
        let begun = if pause.is_zero() { Ok(start()) } else { Err(start) };
        let running = async move {
            let (started, task) = match begun {
                Ok(begun) => begun,
                Err(start) => {
                    if or_cancelled(&cancel, sleep(pause)).await.is_none() {
                        return CallEvent::Ended(id, Box::new(not_run()));
                    }
                    start()
                }
            };
            let runs = desk.run(&own_id);
            let result = guard(config, (&desk, &own_id, limit), task, &cancel, &stop).await;
            drop(runs);
            let own_origin = result.as_ref().ok().and_then(|output| output.origin);
            // What is not of the tool's own origin may be of another source.
            let source = source.filter(|_| own_origin.is_none_or(|own| own == origin));
            let origin = own_origin.unwrap_or(origin);
            let (result, parts) = read_result(&name, result, most, able);
            if let Err(CallFailure(failure, _)) = &result {
                ended.record("error.type", CallEnd::from(*failure).as_str());
            }
            let duration_ms = elapsed_ms(started);
            let end = ToolEnd { parts, duration_ms, origin, source, ..ToolEnd::at_once(result) };
            if let Some(family) = nesting::family() {
                // A parent agent resumes, and needs the slot that it gave up for the call.
                Box::pin(family.call_ended(&cancel)).await;
            }
            CallEvent::Ended(id, Box::new(end))
        };
        self.running.push(Box::pin(running));
    }

    /// Ends a call that searched for tools, once the prompt's notes on the found tools are known.
    fn end_search(&mut self, call_id: CallId, mut end: ToolEnd, cancel: CancellationToken) {
        let parts = self.site.parts;
        let notes = notes(&parts.prompts, &end.found, parts.config.prompt_timeout);
        let Some(notes) = notes else { return self.refuse(call_id, end) };
        self.running.push(Box::pin(async move {
            if let Some(text) = or_cancelled(&cancel, notes).await.filter(|text| !text.is_empty()) {
                end.parts.push(Part::text(text));
            }
            CallEvent::Ended(call_id, Box::new(end))
        }));
    }

    /// Ends a call at once.
    pub(super) fn refuse(&mut self, call_id: CallId, end: ToolEnd) {
        self.running.push(Box::pin(std::future::ready(CallEvent::Ended(call_id, Box::new(end)))));
    }

    /// Requests a person's approval of a call, after making its preview.
    pub(super) fn propose(
        &mut self,
        id: CallId,
        (approval_id, reason): (&Text, ApprovalReason),
        call: &ToolCall,
        run_state: &RunState,
        emitter: &EventEmitter,
    ) {
        let entry = self.site.parts.tools.find(&call.name);
        let can_answer = emitter.steering().is_some() || self.site.parts.approver.is_some();
        let can_ask = can_answer && (call.hosted || entry.is_some());
        let approval_id = approval_id.clone();
        let Some(arguments) = call.arguments.clone().filter(|_| can_ask) else {
            let verdict = ApprovalVerdict::Unasked;
            let refused =
                CallEvent::Decided(id, Box::new(ApprovalAnswer::new(approval_id, verdict)));
            return self.running.push(Box::pin(std::future::ready(refused)));
        };
        let place = CallPlace {
            run_id: emitter.run_id().clone(),
            turn: emitter.turn(),
            call_id: call.id.clone(),
            tool_name: call.name.clone(),
        };
        let (halt, state) = (self.halt.clone(), self.site.parts.state.clone());
        let stop = halt.child_token();
        let run = run_state.context().clone();
        let context = ToolContext::new(place, stop, self.events_in.clone(), state, run);
        let context = self.site.reading(context, run_state);
        let (id_of_call, name) = (call.id.clone(), call.name.clone());
        let request = ApprovalRequest::new(approval_id, id_of_call, name, arguments).reason(reason);
        let tool = entry.map(|entry| Arc::clone(entry.tool));
        let proposal = approval_proposal::prepare(
            (self.site.parts, self.site.agent.key()),
            tool,
            context,
            id,
            request,
            halt,
        );
        self.running.push(Box::pin(async move { CallEvent::Proposed(proposal.await) }));
    }

    /// Sends a call to the client, after a delay.
    pub(super) fn send(
        &mut self,
        id: CallId,
        client_call_id: &Text,
        call: &ToolCall,
        pause: Duration,
        run: &RunContext,
        emitter: &EventEmitter,
    ) {
        let has_reader = emitter.steering().is_some();
        let parts = self.site.parts;
        let outgoing = OutgoingCall::new(parts, id, client_call_id, call, run, has_reader);
        let halt = self.halt.clone();
        self.running.push(Box::pin(async move {
            if !pause.is_zero() {
                // A run that ends withdraws the call.
                let _waited = or_cancelled(&halt, sleep(pause)).await;
            }
            CallEvent::Outgoing(Box::new(outgoing))
        }));
    }

    /// Waits for the end of a call and passes on the events of all calls; returns `None` when none is running.
    pub(super) async fn next(&mut self, emitter: &mut EventEmitter) -> Option<StepInput> {
        loop {
            let news = self.heard().await?;
            if let Some(input) = self.pass_on(news, emitter).await {
                return Some(input);
            }
        }
    }

    /// Leaves out the time for which calls have waited for people so far: the answer was in progress meanwhile.
    pub(super) fn forget_waited(&self) {
        self.desk.take_waited();
    }

    /// Takes the stage of the run, in which its calls may wait for people.
    pub(super) fn enter(&self, state: &RunState) {
        self.desk.enter(state.stage());
    }

    /// Returns `true` while a call is running.
    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Returns `true` once a sub-agent works in the background.
    pub(super) fn has_background(&self) -> bool {
        self.purse.has_background()
    }

    /// Waits for an event of a background agent while no call is running. Cancel safe.
    pub(super) async fn heard_beside(&mut self) -> CallEvent {
        match self.events.recv().await {
            Some(event) => CallEvent::Event(event),
            // The calls end by themselves.
            None => std::future::pending().await,
        }
    }

    /// Waits for news about the calls; returns `None` when none is running. Cancel safe.
    pub(super) async fn heard(&mut self) -> Option<CallEvent> {
        tokio::select! {
            biased;
            Some(event) = self.events.recv() => Some(CallEvent::Event(event)),
            news = self.running.next() => news,
        }
    }

    /// Passes on an event of a tool; returns the end of a call, after all of its events.
    pub(super) async fn pass_on(
        &mut self,
        news: CallEvent,
        emitter: &mut EventEmitter,
    ) -> Option<StepInput> {
        let (id, mut end) = match news {
            CallEvent::Event(event) => {
                emitter.emit_while_running(*event).await;
                return None;
            }
            CallEvent::Ended(id, end) => (id, end),
            // Boxed: a future holds each place that a value is moved through.
            news @ (CallEvent::Proposed(_) | CallEvent::Outgoing(_)) => {
                return Box::pin(self.show(news, emitter)).await;
            }
            CallEvent::Decided(id, decided) => return Some(StepInput::Decided(id, decided)),
            CallEvent::Returned(id, returned) => return Some(StepInput::Returned(id, returned)),
        };
        while let Ok(event) = self.events.try_recv() {
            emitter.emit_while_running(*event).await;
        }
        end.below = self.purse.settle(id).map(Box::new);
        let waited = self.desk.take_waited().as_millis();
        end.waited_ms = u64::try_from(waited).unwrap_or(u64::MAX);
        Some(StepInput::Ran(id, end))
    }

    /// Shows a call to the person who decides about it, or sends it to the client; returns the outcome of a call that is not shown.
    async fn show(&mut self, news: CallEvent, emitter: &mut EventEmitter) -> Option<StepInput> {
        match news {
            CallEvent::Proposed(proposal) => {
                let (id, approval_id) = (proposal.id, proposal.approval_id().clone());
                if let Some(verdict) = proposal.refusal(emitter) {
                    let decided = ApprovalAnswer::new(approval_id, verdict);
                    return Some(StepInput::Decided(id, Box::new(decided)));
                }
                self.shown.extend(proposal.digest().map(|digest| (id, digest)));
                let answered = proposal.show(self.site.parts, emitter, self.halt.clone()).await;
                self.running.push(Box::pin(async move {
                    let verdict = answered.await;
                    CallEvent::Decided(id, Box::new(ApprovalAnswer::new(approval_id, verdict)))
                }));
            }
            CallEvent::Outgoing(outgoing) => {
                let id = outgoing.id;
                match outgoing.send(self.site.parts, emitter, self.halt.clone()).await {
                    Ok(returned) => self.running.push(Box::pin(async move {
                        CallEvent::Returned(id, Box::new(returned.await))
                    })),
                    Err(not_sent) => return Some(StepInput::Returned(id, Box::new(not_sent))),
                }
            }
            CallEvent::Event(_)
            | CallEvent::Ended(..)
            | CallEvent::Decided(..)
            | CallEvent::Returned(..) => {}
        }
        None
    }
}

/// Takes the run's slot again after all calls, and meanwhile passes on the events of background
/// agents: one that could not deliver its events would keep its own slot.
pub(super) async fn take_place(
    family: &AgentFamily,
    mut calls: Option<&mut RunningCalls<'_>>,
    emitter: &mut EventEmitter,
) {
    let cancel = emitter.cancel().clone();
    let mut taken = pin!(family.calls_ended(&cancel));
    while let Some(calls) = calls.as_deref_mut() {
        let news = tokio::select! {
            biased;
            () = &mut taken => return,
            news = calls.heard_beside() => news,
        };
        calls.pass_on(news, emitter).await;
    }
    taken.await;
}

impl Drop for RunningCalls<'_> {
    fn drop(&mut self) {
        // Background agents hold the purse that holds them.
        self.purse.close();
        self.desk.enter(DeskStage::Model);
    }
}

/// Ends the background agents, and counts what they have spent since the last call.
pub(super) fn count_below(calls: Option<&RunningCalls<'_>>, state: &mut RunState) {
    if let Some(calls) = calls {
        state.add_below(calls.purse.end());
        nesting::with_draw(|draw| draw.note(state.spent()));
    }
}

/// Reports that a call is about to run.
pub(super) async fn tell(call: &ToolCall, emitter: &mut EventEmitter) {
    let ToolCall { id, name, arguments: Some(arguments), repairs, .. } = call else { return };
    let (id, tool_name) = (id.clone(), name.clone());
    let repairs = repairs.iter().copied().filter(|repair| *repair == Repair::Coerced).collect();
    let event =
        AgentEvent::ToolCall(ToolCallEvent::new(id, tool_name, arguments.clone()).repairs(repairs));
    emitter.emit_while_running(event).await;
}

/// Returns the end of a call that did not run because the run is ending.
fn not_run() -> ToolEnd {
    ToolEnd::refused(CallFailure(FailureKind::NotRun, feedback::NOT_RUN.to_owned()))
}
