//! The loop of one run.

use std::{collections::VecDeque, pin::pin};

use tokio::{sync::Mutex, time::timeout};
use tracing::Instrument as _;

use super::{
    AtMaxTurns, NoToolCall, OutcomeKind, RunOutcome,
    breaker::Breaker,
    call_mode::Modes,
    calls::{CallRunner, CallsOutcome},
    conversation::{Answer, Conversation, or_cancelled},
    emitter::Emitter,
    feedback,
    memory::{ConversationMemory, Memory},
    parts::Parts,
    written::Written,
};
use crate::{
    llm::{Request, ToolChoice},
    types::{AgentError, AgentEvent, Envelope, ErrorCode, Message},
};

/// The state that the clones of an agent share.
pub(super) struct Shared {
    pub(super) parts: Parts,
    pub(super) modes: Modes,
    pub(super) memory: Mutex<Box<dyn Memory>>,
    pub(super) written: Written,
}

/// Runs `input` to its end; the second value is what the reader must still get.
pub(super) async fn run(
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
        Run::new(agent, memory, emitter).serve(input).await
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

/// One run.
struct Run<'a> {
    conversation: Conversation<'a>,
    breaker: Breaker,
}

impl<'a> Run<'a> {
    fn new(agent: &'a Shared, memory: &'a mut dyn Memory, emitter: Emitter) -> Self {
        let outcome = RunOutcome::new(emitter.run_id().clone());
        let Shared { parts, modes, written, .. } = agent;
        let (mode, prompt) = (modes.current(), String::new());
        let breaker = Breaker::new(parts.config.breaker_failures);
        let conversation =
            Conversation { parts, modes, mode, prompt, memory, written, emitter, outcome };
        Self { conversation, breaker }
    }

    async fn emit(&mut self, event: AgentEvent) {
        self.conversation.emitter.emit(event).await;
    }

    async fn serve(mut self, input: Message) -> (RunOutcome, VecDeque<Envelope>) {
        self.emit(AgentEvent::UpdateBusy { busy: true }).await;
        let ended = self.turns(input).await;
        self.conversation.outcome.reason = match ended {
            Ok(reason) => reason,
            Err(error) => {
                if !self.conversation.emitter.has_failed() {
                    let partial = !self.conversation.outcome.text.is_empty();
                    self.emit(AgentEvent::Error { error: error.clone(), partial }).await;
                }
                OutcomeKind::Failed { error }
            }
        };
        self.emit(AgentEvent::TurnEnd).await;
        self.emit(AgentEvent::UpdateBusy { busy: false }).await;
        let Conversation { outcome, emitter, .. } = self.conversation;
        (outcome, emitter.into_backlog())
    }

    /// Takes turns until the answer is there.
    async fn turns(&mut self, input: Message) -> Result<OutcomeKind, AgentError> {
        if self.is_cancelled() {
            return Err(self.conversation.emitter.stop_error());
        }
        let config = &self.conversation.parts.config;
        // In a box: it is as large as all else that a waiting run holds.
        let mut request = Box::new(self.conversation.begin(input).await?);
        let mut nudges = 0;
        while self.conversation.outcome.turns < config.max_turns {
            let answer = self.conversation.ask(&mut request).await?;
            if answer.calls.is_empty() && answer.paused {
                // The provider goes on when it gets its own words back.
                continue;
            }
            if answer.calls.is_empty() {
                if !self.wants_a_call(&answer, nudges) {
                    return Ok(OutcomeKind::Answer);
                }
                nudges += 1;
                self.emit(AgentEvent::NoToolCall).await;
                let text = feedback::no_call(answer.fenced_calls > 0);
                self.conversation.remember(Message::user(text));
                continue;
            }
            nudges = 0;
            if let Some(reason) = self.act(answer).await? {
                return Ok(reason);
            }
        }
        match config.at_max_turns {
            AtMaxTurns::AskForAnswer => self.last_answer(request).await,
            AtMaxTurns::Fail => {
                let turns = config.max_turns;
                let message = format!(
                    "the limit of {turns} turns is reached; raise max_turns or ask for less"
                );
                Err(AgentError::new(ErrorCode::MaxTurns, message))
            }
        }
    }

    fn is_cancelled(&self) -> bool {
        self.conversation.emitter.cancel().is_cancelled()
    }

    fn wants_a_call(&self, answer: &Answer, nudges: u32) -> bool {
        let parts = self.conversation.parts;
        match parts.config.no_tool_call {
            NoToolCall::AcceptAsFinal => false,
            NoToolCall::Nudge(most) => {
                nudges < most && (answer.fenced_calls > 0 || !parts.tools.is_empty())
            }
        }
    }

    /// Runs the calls of an answer and keeps their results.
    async fn act(&mut self, answer: Answer) -> Result<Option<OutcomeKind>, AgentError> {
        let Answer { calls, body_bytes, .. } = answer;
        let Conversation { parts, emitter, .. } = &mut self.conversation;
        let runner = CallRunner { parts, emitter, breaker: &mut self.breaker };
        let CallsOutcome { results, ended_by, broken } = runner.run(&calls, &body_bytes).await;
        let reason = ended_by.and_then(|at| {
            let (call, result) = (calls.get(at)?, results.get(at)?);
            Some(OutcomeKind::of_call(&result.name, call.arguments.as_ref(), &result.content))
        });
        if let Some(text) = reason.as_ref().and_then(OutcomeKind::text) {
            text.clone_into(&mut self.conversation.outcome.text);
        }
        self.conversation.remember_results(results);
        if reason.is_some() {
            return Ok(reason);
        }
        if self.is_cancelled() {
            return Err(self.conversation.emitter.stop_error());
        }
        let Some(tool) = broken else { return Ok(None) };
        let times = self.conversation.parts.config.breaker_failures;
        let message =
            format!("the tool `{tool}` failed in the same way {times} times; the run was stopped");
        Err(AgentError::new(ErrorCode::CircuitBreaker, message))
    }

    /// Asks for the answer; tools cannot run any more.
    async fn last_answer(&mut self, mut request: Box<Request>) -> Result<OutcomeKind, AgentError> {
        self.conversation.remember(Message::user(feedback::ANSWER_NOW));
        if !request.tools.is_empty() {
            request.tool_choice = Some(ToolChoice::None);
        }
        let answer = self.conversation.ask(&mut request).await?;
        self.conversation.refuse(&answer.calls);
        Ok(OutcomeKind::MaxTurns)
    }
}
