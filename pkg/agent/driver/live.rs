//! A run in this process.

use std::{collections::VecDeque, pin::pin, sync::Arc};

use tokio::{sync::Mutex, time::timeout};
use tracing::Instrument as _;

use super::{
    calls::RunningCalls,
    conversation::{Conversation, or_cancelled},
    written::Written,
};
use crate::{
    agent::{
        RunOutcome,
        call_mode::Modes,
        clock,
        emitter::Emitter,
        memory::{ConversationMemory, Memory},
        parts::Parts,
        prompts::{PromptContext, compose},
        state::{AnswerId, AskKind, Effect, RunSpec, RunState, StepInput, Time},
    },
    types::{AgentEvent, Envelope, Message},
};

/// The state that the clones of an agent share.
pub(in crate::agent) struct Shared {
    pub(in crate::agent) parts: Parts,
    pub(in crate::agent) modes: Modes,
    pub(in crate::agent) memory: Mutex<Box<dyn Memory>>,
    pub(in crate::agent) written: Written,
}

/// Runs `input` to its end; the second value is what the reader must still get.
pub(in crate::agent) async fn run(
    agent: &Shared,
    input: Message,
    emitter: Emitter,
) -> (RunOutcome, VecDeque<Envelope>) {
    let span = tracing::info_span!("run", id = %emitter.run_id());
    let cancel = emitter.cancel().clone();
    let (expiry, limit) = (emitter.expiry(), agent.parts.config.run_timeout);
    let stop = cancel.clone();
    let running = async move {
        let mut guard = or_cancelled(&cancel, agent.memory.lock()).await;
        // Cancelled while another run was going on: the conversation is not touched.
        let mut nothing = ConversationMemory::default();
        let memory: &mut dyn Memory = match &mut guard {
            Some(memory) => &mut ***memory,
            None => &mut nothing,
        };
        Driver::new(agent, memory, input, emitter).drive().await
    };
    let mut running = pin!(running.instrument(span));
    let Some(limit) = limit else { return running.await };
    if let Ok(ended) = timeout(limit, running.as_mut()).await {
        return ended;
    }
    expiry.get_or_init(|| limit);
    stop.cancel();
    running.await
}

/// Drives one run.
struct Driver<'a> {
    state: RunState,
    conversation: Conversation<'a>,
    /// The work that the state has asked for and that has not begun.
    due: Option<Due>,
    calls: Option<RunningCalls<'a>>,
}

/// Work of which there is one at a time.
enum Due {
    Prompt,
    Answer(AnswerId, AskKind),
}

impl<'a> Driver<'a> {
    fn new(
        agent: &'a Shared,
        memory: &'a mut dyn Memory,
        input: Message,
        emitter: Emitter,
    ) -> Self {
        let Shared { parts, modes, written, .. } = agent;
        let config = &parts.config;
        let spec = RunSpec {
            max_turns: config.max_turns,
            at_max_turns: config.at_max_turns,
            no_tool_call: config.no_tool_call,
            max_parallel_calls: config.max_parallel_calls,
            breaker_failures: config.breaker_failures,
        };
        let state = RunState::new(emitter.run_id().clone(), spec, input);
        let mode = modes.current();
        let conversation =
            Conversation { parts, modes, mode, memory, written, emitter, template: None };
        Self { state, conversation, due: None, calls: None }
    }

    async fn drive(mut self) -> (RunOutcome, VecDeque<Envelope>) {
        self.conversation.emitter.emit(AgentEvent::UpdateBusy { busy: true }).await;
        let mut effects = Vec::new();
        self.state.pending(&mut effects);
        loop {
            for effect in effects.drain(..) {
                self.perform(effect).await;
            }
            let input = self.next().await;
            // A cancellation comes before what ended because of it.
            let is_cancelled = self.take_cancellation(&mut effects);
            match input {
                Some(input) => self.take(input, &mut effects),
                None if !is_cancelled => break,
                None => {}
            }
        }
        (self.state.into_outcome(), self.conversation.emitter.into_backlog())
    }

    /// Returns `true` when the run was cancelled since the last input.
    fn take_cancellation(&mut self, effects: &mut Vec<Effect>) -> bool {
        let emitter = &self.conversation.emitter;
        let is_over = self.state.is_cancelled() || self.state.is_done();
        let is_cancelled = emitter.cancel().is_cancelled() && !is_over;
        if is_cancelled {
            self.take(StepInput::Cancelled(emitter.stop_reason()), effects);
        }
        is_cancelled
    }

    fn take(&mut self, input: StepInput, effects: &mut Vec<Effect>) {
        self.state.step(self.conversation.parts, Time(clock::now()), input, effects);
    }

    async fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Commit(places) => {
                let messages = self.state.outcome().messages.get(places).unwrap_or_default();
                for message in messages {
                    self.conversation.memory.add(Arc::clone(message));
                }
            }
            Effect::Prepare => self.due = Some(Due::Prompt),
            Effect::Ask(id, kind) => self.due = Some(Due::Answer(id, kind)),
            Effect::Run(id) => {
                let Some(call) = self.state.call(id) else { return };
                let Conversation { parts, emitter, .. } = &mut self.conversation;
                let calls = self.calls.get_or_insert_with(RunningCalls::new);
                calls.begin(id, call, parts, emitter).await;
            }
            Effect::Emit(event) => self.conversation.emitter.emit(*event).await,
            Effect::Finished => {
                (self.due, self.calls) = (None, None);
                self.conversation.emitter.emit(AgentEvent::TurnEnd).await;
                self.conversation.emitter.emit(AgentEvent::UpdateBusy { busy: false }).await;
            }
            Effect::Refused(refusal) => tracing::debug!(?refusal, "an input was not taken"),
        }
    }

    /// Waits for the next input; `None` when the run is over or cancelled.
    async fn next(&mut self) -> Option<StepInput> {
        match self.due.take() {
            Some(Due::Prompt) => self.prepare().await,
            Some(Due::Answer(id, kind)) => {
                let answer = self.conversation.ask(self.state.prompt(), id.turn, kind).await;
                Some(StepInput::Answered(id, answer))
            }
            None => self.calls.as_mut()?.next(&mut self.conversation.emitter).await,
        }
    }

    /// Makes the system prompt of the run; `None` when it is cancelled.
    async fn prepare(&mut self) -> Option<StepInput> {
        let conversation = &mut self.conversation;
        if conversation.emitter.cancel().is_cancelled() {
            return None;
        }
        conversation.complete_history();
        let run_id = conversation.emitter.run_id().clone();
        let input = self.state.input().map(Message::text).unwrap_or_default();
        let context = PromptContext { run_id, input };
        let parts = conversation.parts.prompts.iter().map(|part| part.build(context.clone()));
        let prompt = compose(parts.collect());
        let prompt = or_cancelled(conversation.emitter.cancel(), prompt).await?;
        Some(prompt.map_or_else(StepInput::Unprepared, StepInput::Prepared))
    }
}
