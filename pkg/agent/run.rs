//! The loop of one run.

use std::collections::VecDeque;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    AtMaxTurns, CALL_MODE_FALLBACK, DefaultAgent, NoToolCall, OutcomeKind, RunOutcome,
    answer::AnswerParts,
    breaker::Breaker,
    calls::{CallRunner, CallsOutcome},
    default_agent::Parts,
    emitter::Emitter,
    healing,
    memory::Memory,
    plan::{Plan, Plans},
    prompts::{PromptContext, compose, render_results},
    response::{self, OnRefusal, Response},
};
use crate::{
    llm::{ProviderError, Request, ToolChoice},
    types::{
        AgentError, AgentEvent, Completion, Envelope, ErrorCode, FinishReason, Message,
        MessageRole, Part, ToolCall, ToolResult, UsageInfo,
    },
};

/// Runs `input` to its end; the second value is what the reader must still get.
pub(super) async fn run(
    agent: &DefaultAgent,
    input: String,
    emitter: Emitter,
) -> (RunOutcome, VecDeque<Envelope>) {
    let span = tracing::info_span!("run", id = %emitter.run_id());
    let cancel = emitter.cancel().clone();
    let running = async move {
        let memory = or_cancelled(&cancel, agent.memory().lock()).await;
        let mut nothing = super::memory::ConversationMemory::default();
        let mut guard = memory.ok();
        let memory: &mut dyn Memory = match &mut guard {
            Some(memory) => &mut ***memory,
            // Cancelled while another run was going on: the conversation is not touched.
            None => &mut nothing,
        };
        Run::new(agent, memory, emitter).serve(input).await
    };
    running.instrument(span).await
}

/// Awaits `work` unless the run is cancelled.
async fn or_cancelled<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> Result<T, AgentError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(cancelled()),
        done = work => Ok(done),
    }
}

fn cancelled() -> AgentError {
    AgentError::new(ErrorCode::Cancelled, "the run was cancelled; what had arrived is kept")
}

/// One run.
struct Run<'a> {
    parts: &'a Parts,
    plans: &'a Plans,
    /// The plan in force.
    plan: &'a Plan,
    /// The system prompt without the tools.
    prompt: String,
    memory: &'a mut dyn Memory,
    emitter: Emitter,
    breaker: Breaker,
    outcome: RunOutcome,
}

/// An answer of the model.
struct Answer {
    calls: Vec<ToolCall>,
    fenced_calls: u32,
    /// Whether the provider paused inside its answer.
    paused: bool,
    /// How many bytes of each call had arrived, by index.
    body_bytes: Vec<(u32, usize)>,
}

impl<'a> Run<'a> {
    fn new(agent: &'a DefaultAgent, memory: &'a mut dyn Memory, emitter: Emitter) -> Self {
        let outcome = RunOutcome {
            run_id: emitter.run_id().clone(),
            text: String::new(),
            reason: OutcomeKind::Answer,
            turns: 0,
            usage: None,
            finish_reason: None,
            messages: Vec::new(),
        };
        let parts = agent.parts();
        let breaker = Breaker::new(parts.config.breaker_failures);
        let (plans, prompt) = (agent.plans(), String::new());
        let plan = plans.current();
        Self { parts, plans, plan, prompt, memory, emitter, breaker, outcome }
    }

    async fn serve(mut self, input: String) -> (RunOutcome, VecDeque<Envelope>) {
        self.emitter.emit(AgentEvent::UpdateBusy { busy: true }).await;
        let ended = self.turns(input).await;
        self.outcome.reason = match ended {
            Ok(reason) => reason,
            Err(error) => {
                if !self.emitter.has_failed() {
                    let partial = !self.outcome.text.is_empty();
                    self.emitter.emit(AgentEvent::Error { error: error.clone(), partial }).await;
                }
                OutcomeKind::Failed { error }
            }
        };
        self.emitter.emit(AgentEvent::TurnEnd).await;
        self.emitter.emit(AgentEvent::UpdateBusy { busy: false }).await;
        (self.outcome, self.emitter.into_backlog())
    }

    /// Turn by turn until the answer is there.
    async fn turns(&mut self, input: String) -> Result<OutcomeKind, AgentError> {
        let cancel = self.emitter.cancel().clone();
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        self.mend_history();
        self.prompt = or_cancelled(&cancel, self.prompt(&input)).await??;
        self.remember(Message::user(input));
        let mut request = self.request();
        let mut nudges = 0;
        while self.outcome.turns < self.parts.config.max_turns {
            let answer = self.ask(&mut request).await?;
            if answer.calls.is_empty() && answer.paused {
                // The provider goes on when it gets its own words back.
                continue;
            }
            if answer.calls.is_empty() {
                if !self.wants_a_call(&answer, nudges) {
                    return Ok(OutcomeKind::Answer);
                }
                nudges += 1;
                self.emitter.emit(AgentEvent::NoToolCall).await;
                self.remember(Message::user(healing::no_call(answer.fenced_calls > 0)));
                continue;
            }
            nudges = 0;
            if let Some(reason) = self.act(answer).await? {
                return Ok(reason);
            }
        }
        match self.parts.config.at_max_turns {
            AtMaxTurns::AskForAnswer => self.last_answer(request).await,
            AtMaxTurns::Fail => {
                let turns = self.outcome.turns;
                let message = format!(
                    "the limit of {turns} turns is reached; raise max_turns or ask for less"
                );
                Err(AgentError::new(ErrorCode::MaxTurns, message))
            }
        }
    }

    fn wants_a_call(&self, answer: &Answer, nudges: u32) -> bool {
        match self.parts.config.no_tool_call {
            NoToolCall::AcceptAsFinal => false,
            NoToolCall::Nudge(most) => {
                nudges < most && (answer.fenced_calls > 0 || !self.parts.tools.is_empty())
            }
        }
    }

    /// The system prompt without the tools; its parts are made at the same time.
    fn prompt(&self, input: &str) -> impl Future<Output = Result<String, AgentError>> + use<> {
        let run_id = self.outcome.run_id.clone();
        let context = PromptContext { run_id, input: input.to_owned() };
        let parts = self.parts.prompts.iter();
        compose(parts.map(|part| part.build(context.clone())).collect())
    }

    /// What the requests of this run are made from.
    fn request(&self) -> Request {
        let caches = self.parts.provider.info().capabilities.prompt_caching;
        self.plan.request(&self.parts.request, &self.prompt, caches)
    }

    /// One call to the provider; its message is kept, also that of one that failed.
    ///
    /// A provider that refuses the native tools is asked once more in text, where that may help.
    async fn ask(&mut self, template: &mut Request) -> Result<Answer, AgentError> {
        self.outcome.turns += 1;
        self.emitter.begin_turn(self.outcome.turns);
        let may_fall_back = self.plans.may_fall_back(self.memory.transcript());
        let first = if may_fall_back { OnRefusal::HandBack } else { OnRefusal::Fail };
        let mut response = self.call(template, first).await;
        if let Response::Refused(error) = response {
            self.fall_back(&error).await;
            *template = self.request();
            response = self.call(template, OnRefusal::FailWith(error)).await;
        }
        match response {
            Response::Ended { completion, parts, answered } => {
                if answered {
                    self.plans.answered(self.plan);
                } else {
                    self.plan = self.plans.current();
                }
                self.keep(*completion, parts)
            }
            Response::Refused(error) => Err(error.to_agent_error()),
        }
    }

    async fn call(&mut self, template: &Request, on_refusal: OnRefusal) -> Response {
        let mut request = template.clone();
        request.messages = self.memory.transcript().clone();
        let (provider, plan) = (&*self.parts.provider, self.plan);
        let number = self.outcome.turns;
        let span = tracing::info_span!("turn", number, model = %provider.info().model);
        let reading = response::read(provider, request, plan, on_refusal, &mut self.emitter);
        reading.instrument(span).await
    }

    async fn fall_back(&mut self, error: &ProviderError) {
        let reason = error.to_agent_error().message;
        tracing::warn!(%reason, "the provider refuses native tools; trying text");
        self.plan = self.plans.text(self.parts);
        let data = json!({ "from": "native", "to": "text", "reason": reason });
        let event = AgentEvent::Custom { name: CALL_MODE_FALLBACK.into(), data };
        self.emitter.emit_while_running(event).await;
    }

    fn keep(&mut self, completion: Completion, parts: AnswerParts) -> Result<Answer, AgentError> {
        if let Some(usage) = &completion.usage {
            self.outcome.usage.get_or_insert_with(UsageInfo::default).add(usage);
        }
        let calls = completion.tool_calls;
        let body_bytes =
            calls.iter().map(|call| (call.index, parts.body_bytes(call.index))).collect();
        if let Some(message) = parts.into_message(&calls) {
            self.remember(message);
        }
        let goes_on = self.outcome.finish_reason == Some(FinishReason::Pause);
        let before = if goes_on { std::mem::take(&mut self.outcome.text) } else { String::new() };
        self.outcome.finish_reason = completion.finish_reason;
        if self.outcome.finish_reason == Some(FinishReason::Refusal) && completion.text.is_empty() {
            self.outcome.text = completion.refusal;
        } else {
            self.outcome.text = before + &completion.text;
        }
        let error = match completion.error {
            Some(error) => Some(error),
            None => self.emitter.cancel().is_cancelled().then(cancelled),
        };
        if let Some(error) = error {
            self.refuse(&calls);
            return Err(error);
        }
        let paused = self.outcome.finish_reason == Some(FinishReason::Pause);
        Ok(Answer { calls, fenced_calls: completion.fenced_calls, paused, body_bytes })
    }

    /// Runs the calls of an answer and keeps their results.
    async fn act(&mut self, answer: Answer) -> Result<Option<OutcomeKind>, AgentError> {
        let Answer { calls, body_bytes, .. } = answer;
        let runner = CallRunner {
            parts: self.parts,
            emitter: &mut self.emitter,
            breaker: &mut self.breaker,
        };
        let bytes = |index| {
            let found = body_bytes.iter().find(|(at, _)| *at == index);
            found.map_or(0, |(_, bytes)| *bytes)
        };
        let CallsOutcome { results, ended_by, broken } = runner.run(&calls, bytes).await;
        let reason = ended_by.and_then(|at| {
            let (call, result) = (calls.get(at)?, results.get(at)?);
            Some(OutcomeKind::of_call(&result.name, call.arguments.as_ref(), &result.content))
        });
        if let Some(reason) = &reason {
            reason.text().unwrap_or_default().clone_into(&mut self.outcome.text);
        }
        self.remember_results(results);
        if reason.is_some() {
            return Ok(reason);
        }
        if self.emitter.cancel().is_cancelled() {
            return Err(cancelled());
        }
        match broken {
            Some(tool) => Err(AgentError::new(
                ErrorCode::CircuitBreaker,
                format!(
                    "the tool `{tool}` failed in the same way {} times; the run was stopped",
                    self.parts.config.breaker_failures
                ),
            )),
            None => Ok(None),
        }
    }

    /// Asks for the answer; tools cannot run any more.
    async fn last_answer(&mut self, mut request: Request) -> Result<OutcomeKind, AgentError> {
        self.remember(Message::user(healing::ANSWER_NOW));
        if !request.tools.is_empty() {
            request.tool_choice = Some(ToolChoice::None);
        }
        let answer = self.ask(&mut request).await?;
        self.refuse(&answer.calls);
        Ok(OutcomeKind::MaxTurns)
    }

    /// Answers calls that are not run at all, so that the history has a result for each.
    fn refuse(&mut self, calls: &[ToolCall]) {
        let results = calls.iter().map(|call| {
            ToolResult::new(call.id.clone(), call.name.clone(), healing::NOT_RUN).error(true)
        });
        self.remember_results(results.collect());
    }

    fn remember_results(&mut self, results: Vec<ToolResult>) {
        if results.is_empty() {
            return;
        }
        self.remember(if self.plan.native {
            Message::new(MessageRole::Tool, results.into_iter().map(Part::ToolResult).collect())
        } else {
            Message::user(render_results(self.plan.dialect(), &results))
        });
    }

    /// A run that was dropped may have left calls without results, which servers refuse.
    fn mend_history(&mut self) {
        let Some(last) = self.memory.recent(1).first().cloned() else { return };
        let results = last.tool_calls().map(|call| {
            ToolResult::new(call.id.clone(), call.name.clone(), healing::NOT_RUN).error(true)
        });
        let results: Vec<_> = results.map(Part::ToolResult).collect();
        if !results.is_empty() {
            self.memory.add(Message::new(MessageRole::Tool, results));
        }
    }

    fn remember(&mut self, message: Message) {
        self.memory.add(message);
        self.outcome.messages.extend(self.memory.recent(1).iter().cloned());
    }
}
