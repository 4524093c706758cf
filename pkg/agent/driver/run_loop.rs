//! A run in this process.

use std::{collections::VecDeque, mem, ops::Range, pin::pin, sync::Arc};

use serde_json::value::RawValue;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::{
    accepted_input::AcceptedInput,
    calls::{self, RunningCalls},
    conversation::RunConversation,
    event_emitter::EventEmitter,
    guard::{or_cancelled, unless_stopped},
    run_start::RunStart,
    shared_agent::SharedAgent,
    spans,
};
use crate::journal::{
    Chain, InputRecord, JournalStep, JournaledInput, MessageList, OpenRun, Record, VERSION, Writer,
};
use crate::prompts::{ComposedPrompt, PromptContext, compose};
use crate::setup::{AgentSetup, RequestModes};
use crate::state::{
    AnswerId, AskKind, CallId, RunEffect, RunPrompt, RunSpec, RunState, StepInput, UnixMillis,
};
use crate::steering::{Steering, UserMessage};
use crate::{RunInput, nesting, run::RunOutcome, support::clock};
use forgeline_types::{AgentError, AgentEvent, Envelope, ErrorCode, Message, UpdateBusyEvent};

/// Drives a run to its end; the second value holds the events that the reader has yet to receive.
pub(crate) async fn run(
    agent: &SharedAgent,
    start: RunStart,
    emitter: Box<EventEmitter>,
) -> (RunOutcome, VecDeque<Envelope>) {
    let conversation = start.context().conversation();
    let span = spans::invoke_agent(start.model(agent), emitter.run_id(), conversation);
    let (whole, cancel) = (span.clone(), emitter.cancel().clone());
    let (expiry, limit) = (emitter.expiry(), start.limit(agent.parts.config.run_timeout));
    let stop = cancel.clone();
    let running = async move {
        // A run that is cancelled while waiting for another run does not touch the conversation.
        let taken = match start.check(agent) {
            Ok(()) => or_cancelled(&cancel, agent.begin_turn(&start)).await,
            Err(error) => Some(Err(error)),
        };
        let (mut turn, mut refused) = match taken {
            Some(Ok(turn)) => (Some(turn), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        let mut setting = None;
        match &start {
            RunStart::Open(_, _, own) => setting.clone_from(own),
            RunStart::Input(input) if agent.parts.may_differ(&input.context) && turn.is_some() => {
                let asked = or_cancelled(&cancel, agent.setting_of(&input.context, &|_| true));
                match Box::pin(asked).await {
                    Some(Ok(own)) => setting = own,
                    Some(Err(error)) => refused = Some(error),
                    None => {}
                }
            }
            RunStart::Input(_) => {}
        }
        // A resumed run has reported them already.
        let is_new = matches!(start, RunStart::Input(_));
        let notices = setting.as_ref().filter(|_| is_new).map(|own| Arc::clone(&own.notices));
        let writer = turn.as_mut().and_then(|writer| writer.as_mut());
        let setting = setting.as_ref();
        let parts = setting.map_or(&*agent.parts, |own| &own.parts);
        let modes = setting.map_or(&*agent.modes, |own| &own.modes);
        let mut driver = RunDriver::new(agent, (parts, modes), writer, start, emitter);
        driver.drive(refused, notices.as_deref().unwrap_or_default()).await;
        let ended = driver.end();
        spans::ended(&whole, &ended.0);
        ended
    };
    let mut running = pin!(running.instrument(span));
    let Some((limit, reason)) = limit else { return running.await };
    if let Ok(ended) = timeout(limit, running.as_mut()).await {
        return ended;
    }
    expiry.get_or_init(|| reason);
    stop.cancel();
    running.await
}

/// Drives one run.
struct RunDriver<'a> {
    /// Boxed: a future holds each place that a value is moved through.
    state: Box<RunState>,
    conversation: RunConversation<'a>,
    /// The work that the state has requested and that has not started.
    due: Option<PendingWork>,
    calls: Option<Box<RunningCalls<'a>>>,
    /// The number of the run's messages that the memory contains.
    remembered: usize,
    writer: Option<&'a mut Writer>,
    /// The inputs that are not in the journal yet, in order.
    taken: VecDeque<AcceptedInput>,
    resumed: Option<Box<ResumePoint>>,
}

/// The point from which a suspended run resumes.
struct ResumePoint {
    /// The end of the journal.
    at: Chain,
    /// The effects of the last input that readers may not have received.
    untold: Vec<RunEffect>,
    /// The calls that were announced before, some of which run again.
    told: Vec<CallId>,
}

/// Work of which at most one piece is in progress at a time.
enum PendingWork {
    Prompt,
    Answer(AnswerId, AskKind),
    Summary(AnswerId),
}

impl<'a> RunDriver<'a> {
    fn new(
        agent: &'a SharedAgent,
        (parts, modes): (&'a AgentSetup, &'a RequestModes),
        writer: Option<&'a mut Writer>,
        start: RunStart,
        mut emitter: Box<EventEmitter>,
    ) -> Self {
        let config = &parts.config;
        let begin = |RunInput { message, context, budget, goal, .. }| {
            let budget = config.budget.narrowed(budget);
            let spec = RunSpec {
                max_turns: config.max_turns.min(budget.turns.unwrap_or(u32::MAX)),
                budget,
                at_limit: config.at_limit,
                no_tool_call: config.no_tool_call,
                max_parallel_calls: config.max_parallel_calls,
                breaker_failures: config.breaker_failures,
                loop_guard: config.loop_guard,
                continue_cut: config.continue_cut,
                answer_repairs: config.answer_repairs,
            };
            let run_id = emitter.run_id().clone();
            let outside = agent.outside_with(&context);
            let mut state = RunState::new(run_id, spec, UnixMillis(clock::now()), context, message);
            state.bind(goal);
            state.allow([&parts.grants[..], &agent.grants.all()].concat());
            state.begin_with(outside);
            if let Some(marks) = agent.window_marks() {
                state.begin_window(marks);
            }
            state
        };
        let (state, resumed) = match start {
            RunStart::Input(input) => (Box::new(begin(*input)), None),
            RunStart::Open(run, at, _) => {
                let OpenRun { state, events, untold, told } = *run;
                emitter.go_on(events, told);
                let told = state.running();
                (state, Some(Box::new(ResumePoint { at, untold, told })))
            }
        };
        emitter.begin_turn(state.outcome().turns);
        let (mode, remembered) = (modes.current(), state.outcome().messages.len());
        let (template, loaded, open) = (None, None, None);
        let conversation =
            RunConversation { agent, parts, modes, mode, emitter, template, loaded, open };
        let (due, calls, taken) = (None, None, VecDeque::new());
        Self { state, conversation, due, calls, remembered, writer, taken, resumed }
    }

    /// Drives the run to its end; a refused run ends at once.
    async fn drive(&mut self, refused: Option<AgentError>, notices: &[AgentEvent]) {
        if refused.is_none() && self.resumed.is_some() {
            Box::pin(self.announce_again()).await;
            if self.state.is_done() {
                // Only its end had not been reported.
                drop(self.perform(RunEffect::Finished).await);
                return;
            }
        }
        self.conversation.begin_records(&self.state, self.resumed.is_some());
        // The run is journaled before a reader knows of it: a run with events has a journal.
        let begun = match refused {
            Some(error) => Err(error),
            None if self.writer.is_some() => Box::pin(self.begin()).await,
            None => Ok(()),
        };
        self.conversation.emitter.emit(AgentEvent::UpdateBusy(UpdateBusyEvent::new(true))).await;
        for notice in notices {
            self.conversation.emitter.emit(notice.clone()).await;
        }
        let mut effects = Vec::new();
        match begun {
            Ok(()) if self.resumed.is_some() => self.take(StepInput::Resumed, &mut effects),
            Ok(()) => self.state.pending(&mut effects),
            Err(error) => self.abort(error, &mut effects),
        }
        loop {
            let mut failed = None;
            for effect in effects.drain(..) {
                // Readers still receive the events of what could not be journaled.
                if failed.is_none() || matches!(effect, RunEffect::Emit(_)) {
                    failed = self.perform(effect).await.err().or(failed);
                }
            }
            if let Some(error) = failed {
                if let Some(answer) = Box::pin(self.conversation.give_up()).await {
                    self.state.keep_open(*answer);
                }
                self.abort(error, &mut effects);
                continue;
            }
            let input = self.next().await;
            self.take_said(&mut effects);
            // A cancellation comes before the calls that it ended.
            let is_cancelled = self.take_cancellation(&mut effects);
            match input {
                Some(input) => self.take(input, &mut effects),
                None if !is_cancelled => break,
                None => {}
            }
        }
    }

    /// Returns the outcome, and the events that the reader has yet to receive.
    fn end(mut self) -> (RunOutcome, VecDeque<Envelope>) {
        if let Some(recorder) = self.conversation.emitter.recorder() {
            recorder.end(self.state.outcome());
        }
        let mut outcome = self.state.into_outcome();
        if let Some(steering) = self.conversation.emitter.steering() {
            outcome
                .undelivered
                .extend(steering.close().into_iter().filter_map(UserMessage::into_message));
        }
        (outcome, self.conversation.emitter.into_backlog())
    }

    /// Checks that the journal continues with this run, or starts the run in it.
    async fn begin(&mut self) -> Result<(), AgentError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        if let Some(chain) = self.resumed.as_ref().map(|resumed| resumed.at) {
            let message = "the conversation has changed since this run stopped; resume it again";
            let moved_on = || AgentError::new(ErrorCode::Journal, message);
            return if writer.ends_at(chain) { Ok(()) } else { Err(moved_on()) };
        }
        let run_id = self.state.outcome().run_id.clone();
        let tools = self.conversation.parts.tool_marks();
        let record: Record<&RunState> =
            Record::Began { version: VERSION, tools, state: &self.state };
        let grace = self.conversation.parts.config.tool_grace;
        let agent = self.conversation.agent;
        let begun = async {
            agent.begin_entry(writer).await?;
            writer.append(JournalStep::RunBegan { run_id }, &record, &[]).await
        };
        unless_stopped(&self.conversation.emitter, grace, begun).await
    }

    /// Reports what was journaled and may not have been reported.
    async fn announce_again(&mut self) {
        let Some(resumed) = &mut self.resumed else { return };
        for effect in mem::take(&mut resumed.untold) {
            if let RunEffect::Audit(denial) = effect {
                self.conversation.audit(*denial, self.state.context());
                continue;
            }
            let emitter = &mut self.conversation.emitter;
            if let RunEffect::Emit(event) = effect {
                emitter.emit(*event).await;
            } else if let RunEffect::Run(id) = effect
                && let Some(call) = self.state.call(id)
            {
                calls::tell(call, emitter).await;
            }
        }
    }

    /// Takes the user's messages since the last input: they come before what ended because of them.
    fn take_said(&mut self, effects: &mut Vec<RunEffect>) {
        while !self.state.is_done()
            && let Some(said) = self.conversation.emitter.steering().and_then(Steering::take)
        {
            self.take(StepInput::Said(said), effects);
        }
    }

    /// Takes a cancellation since the last input; returns `true` when there was one.
    fn take_cancellation(&mut self, effects: &mut Vec<RunEffect>) -> bool {
        let emitter = &self.conversation.emitter;
        let is_over = self.state.is_cancelled() || self.state.is_done();
        let is_cancelled = emitter.cancel().is_cancelled() && !is_over;
        if is_cancelled {
            self.take(StepInput::Cancelled(emitter.stop_reason()), effects);
        }
        is_cancelled
    }

    fn take(&mut self, mut input: StepInput, effects: &mut Vec<RunEffect>) {
        let (at, place) = (UnixMillis(clock::now()), effects.len());
        let is_written = self.writer.is_some();
        self.state.note_grant(self.conversation.parts, &mut input);
        let kept = is_written.then(|| (JournaledInput::from(&input), InputRecord::new(&mut input)));
        if matches!(input, StepInput::Answered(..)) {
            self.calls.iter().for_each(|calls| calls.forget_waited());
        }
        self.state.step(self.conversation.parts, at, input, effects);
        nesting::with_draw(|draw| draw.note(self.state.spent()));
        if let (Some(RunEffect::Commit(_)), Some((input, record))) = (effects.get(place), kept) {
            let done = self.state.is_done();
            self.taken.push_back(AcceptedInput { at, input, record, done });
        }
    }

    /// Ends the run because its journal failed.
    fn abort(&mut self, error: AgentError, effects: &mut Vec<RunEffect>) {
        (self.writer, self.calls, self.due, self.conversation.open) = (None, None, None, None);
        self.taken.clear();
        self.state.abort(self.conversation.parts, error, effects);
    }

    async fn perform(&mut self, effect: RunEffect) -> Result<(), AgentError> {
        match effect {
            RunEffect::Commit(places) => {
                if self.writer.is_some() {
                    Box::pin(self.write_down(places.clone())).await?;
                }
                self.conversation.agent.add_outside(self.state.outside());
                let messages = self.state.outcome().messages.get(self.remembered..places.end);
                let messages = messages.unwrap_or_default();
                if !messages.is_empty() {
                    let run = &self.state.outcome().run_id;
                    self.conversation.agent.note_input(run, self.remembered, messages);
                    let mut memory = self.conversation.agent.memory.lock();
                    for message in messages {
                        memory.add(Arc::clone(message));
                    }
                }
                self.remembered = places.end;
                self.conversation.agent.keep_window(self.state.marks());
            }
            RunEffect::Prepare => self.due = Some(PendingWork::Prompt),
            RunEffect::Ask(id, kind) => self.due = Some(PendingWork::Answer(id, kind)),
            RunEffect::Summarize(id) => self.due = Some(PendingWork::Summary(id)),
            RunEffect::Run(id) => {
                let Some(call) = self.state.call(id) else { return Ok(()) };
                let site = self.conversation.site();
                let RunConversation { parts, emitter, .. } = &mut self.conversation;
                let calls = self
                    .calls
                    .get_or_insert_with(|| Box::new(RunningCalls::for_answer(site, emitter)));
                if let Some(end) = parts.forbidden(&call.name, self.state.context()) {
                    calls.refuse(id, end);
                    return Ok(());
                }
                if !self.resumed.as_ref().is_some_and(|resumed| resumed.told.contains(&id)) {
                    calls::tell(call, emitter).await;
                }
                calls.begin(id, call, &self.state, emitter);
            }
            RunEffect::Propose(id) => self.propose(id),
            RunEffect::Send(id) => self.send(id),
            RunEffect::Withdraw(approval_id) => {
                if let Some(steering) = self.conversation.emitter.steering() {
                    steering.withdraw(&approval_id);
                }
            }
            RunEffect::Audit(denial) => self.conversation.audit(*denial, self.state.context()),
            RunEffect::Grant(grant) => self.conversation.agent.grants.add(grant),
            RunEffect::Stop => self.calls.iter().for_each(|calls| calls.stop()),
            // The steering handle has already interrupted the answer.
            RunEffect::Cut => {}
            RunEffect::Emit(event) => self.conversation.emitter.emit(*event).await,
            RunEffect::Failed(failure) => {
                if let Some(recorder) = self.conversation.emitter.recorder() {
                    recorder.failed(failure);
                }
            }
            RunEffect::Finished => {
                calls::count_below(self.calls.as_deref(), &mut self.state);
                (self.due, self.calls, self.conversation.open) = (None, None, None);
                self.conversation.emitter.emit(AgentEvent::TurnEnd).await;
                let idle = UpdateBusyEvent::new(false);
                self.conversation.emitter.emit(AgentEvent::UpdateBusy(idle)).await;
            }
            RunEffect::Refused(refusal) => tracing::debug!(?refusal, "an input was not accepted"),
        }
        Ok(())
    }

    /// Requests a person's approval of a call.
    fn propose(&mut self, call_id: CallId) {
        let Some((call, approval_id)) = self.state.call(call_id).zip(self.state.approval(call_id))
        else {
            return;
        };
        let (site, emitter) = (self.conversation.site(), &self.conversation.emitter);
        let calls =
            self.calls.get_or_insert_with(|| Box::new(RunningCalls::for_answer(site, emitter)));
        let reason = self.state.approval_reason(self.conversation.parts, call);
        calls.propose(call_id, (approval_id, reason), call, &self.state, emitter);
    }

    /// Sends a call to the client.
    fn send(&mut self, call_id: CallId) {
        let Some((call, client_call_id)) =
            self.state.call(call_id).zip(self.state.client_call(call_id))
        else {
            return;
        };
        let (site, emitter) = (self.conversation.site(), &self.conversation.emitter);
        let calls =
            self.calls.get_or_insert_with(|| Box::new(RunningCalls::for_answer(site, emitter)));
        let (pause, run) = (self.state.pause(call_id), self.state.context());
        calls.send(call_id, client_call_id, call, pause, run, emitter);
    }

    /// Appends the next input, and the messages that it added, to the journal.
    async fn write_down(&mut self, places: Range<usize>) -> Result<(), AgentError> {
        let Some(AcceptedInput { at, input, record, done }) = self.taken.pop_front() else {
            return Ok(());
        };
        let added = self.state.outcome().messages.get(places).unwrap_or_default();
        let events = self.conversation.emitter.events();
        let step =
            JournalStep::InputTaken { input, messages: added.len(), is_whole: false, events };
        let (input, answer) = record.link(added);
        let messages = MessageList::Beside(added.len());
        let record: Record<&RunState, Box<RawValue>> =
            Record::Took { at, input, answer, messages, events, done };
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let grace = self.conversation.parts.config.tool_grace;
        let appended = writer.append(step, &record, added);
        unless_stopped(&self.conversation.emitter, grace, appended).await
    }

    /// Waits for the next input; returns `None` when the run has ended or was cancelled.
    async fn next(&mut self) -> Option<StepInput> {
        self.calls.iter().for_each(|calls| calls.enter(&self.state));
        if let Some(PendingWork::Answer(..) | PendingWork::Summary(_)) = self.due
            && let Some(family) = nesting::own_family()
        {
            let emitter = &mut self.conversation.emitter;
            Box::pin(calls::take_place(&family, self.calls.as_deref_mut(), emitter)).await;
        }
        match self.due.take() {
            Some(PendingWork::Prompt) => return self.prepare().await,
            Some(PendingWork::Answer(id, kind)) => {
                if let Some(input) = self.conversation.fit(&self.state, id) {
                    return Some(input);
                }
                self.conversation.ask(&self.state, id, kind).await;
            }
            Some(PendingWork::Summary(id)) => {
                return Some(Box::pin(self.conversation.summarize(&self.state, id)).await);
            }
            None => {}
        }
        if self.conversation.open.is_some() {
            return self.conversation.read_answer(&self.state, self.calls.as_deref_mut()).await;
        }
        self.calls.as_mut()?.next(&mut self.conversation.emitter).await
    }

    /// Builds the system prompt of the run; returns `None` when the run is cancelled.
    async fn prepare(&mut self) -> Option<StepInput> {
        let conversation = &mut self.conversation;
        if conversation.emitter.cancel().is_cancelled() {
            return None;
        }
        conversation.complete_history();
        let run_id = conversation.emitter.run_id().clone();
        let input = self.state.input().map(Message::text).unwrap_or_default();
        let (run, state) = (self.state.context().clone(), conversation.parts.state.clone());
        let withheld = conversation.parts.withheld(&run).into_boxed_slice();
        let mut context = PromptContext::new(run_id, input, run, state);
        if !conversation.parts.prompts.is_empty() {
            let specs = conversation.parts.offered(conversation.mode.indirect).clone();
            let messages = conversation.agent.memory.lock().transcript().clone();
            context = context.around(messages, nesting::depth(), specs, withheld.clone());
            if conversation.emitter.recorder().is_some() {
                context = context.observed();
            }
        }
        let (parts, limit) =
            (&conversation.parts.prompts, conversation.parts.config.prompt_timeout);
        let prompt = nesting::within(conversation.agent.key(), compose(parts, &context, limit));
        let prompt = or_cancelled(conversation.emitter.cancel(), prompt).await?;
        if let Some(recorder) = conversation.emitter.recorder() {
            recorder.prepared(context.places());
        }
        let prepared = |ComposedPrompt { text, answer, outside }| {
            StepInput::Prepared(RunPrompt { text, withheld, answer, outside })
        };
        Some(prompt.map_or_else(StepInput::Unprepared, prepared))
    }
}
