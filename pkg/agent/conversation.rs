//! A run's conversation: its requests, their answers, and the messages that are kept.

use std::mem;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    CALL_MODE_FALLBACK, RunOutcome, answer,
    call_mode::{Mode, Modes},
    emitter::Emitter,
    feedback,
    memory::Memory,
    parts::Parts,
    prompts::{PromptContext, compose},
    response::{self, OnRefusal, Response},
    written::Written,
};
use crate::{
    llm::{ProviderError, Request},
    types::{
        AgentError, AgentEvent, Completion, FinishReason, Message, MessageRole, Part, ToolCall,
        ToolResult, UsageInfo,
    },
};

/// The conversation of one run.
pub(super) struct Conversation<'a> {
    pub(super) parts: &'a Parts,
    pub(super) modes: &'a Modes,
    /// The mode in force.
    pub(super) mode: &'a Mode,
    /// The system prompt without the tools.
    pub(super) prompt: String,
    pub(super) memory: &'a mut dyn Memory,
    pub(super) written: &'a Written,
    pub(super) emitter: Emitter,
    pub(super) outcome: RunOutcome,
}

/// An answer of the model.
pub(super) struct Answer {
    pub(super) calls: Vec<ToolCall>,
    pub(super) fenced_calls: u32,
    /// `true` when the provider paused inside its answer.
    pub(super) paused: bool,
    /// The bytes of each call that arrived, by its index.
    pub(super) body_bytes: Vec<usize>,
}

impl Conversation<'_> {
    /// Makes the system prompt of the run, keeps what the user said and returns the request that all
    /// requests of the run are made from.
    pub(super) async fn begin(&mut self, mut input: Message) -> Result<Request, AgentError> {
        self.complete_history();
        let run_id = self.outcome.run_id.clone();
        let context = PromptContext { run_id, input: input.text() };
        let parts = self.parts.prompts.iter().map(|part| part.build(context.clone()));
        let prompt = compose(parts.collect());
        let prompt = or_cancelled(self.emitter.cancel(), prompt).await;
        self.prompt = prompt.ok_or_else(|| self.emitter.stop_error())??;
        input.role = MessageRole::User;
        self.remember(input);
        Ok(self.request())
    }

    fn request(&self) -> Request {
        let caches = self.parts.provider.info().capabilities.prompt_caching;
        self.mode.request(&self.parts.request, &self.prompt, caches)
    }

    /// Sends one request and keeps its answer, also that of one that failed.
    ///
    /// A provider that refuses native tools is asked once more in text, where that may help.
    pub(super) async fn ask(&mut self, template: &mut Request) -> Result<Answer, AgentError> {
        self.outcome.turns += 1;
        self.emitter.begin_turn(self.outcome.turns);
        let may_fall_back = self.modes.may_fall_back(self.memory.transcript());
        let first = if may_fall_back { OnRefusal::HandBack } else { OnRefusal::Fail };
        let mut response = self.call(template, first).await;
        if let Response::Refused(error) = response {
            self.fall_back(&error).await;
            // A server in trouble is not asked twice as often because it might be the tools.
            *template = self.request().attempts_made(error.attempts());
            response = self.call(template, OnRefusal::FailWith(error)).await;
            template.attempts_made = 0;
        }
        match response {
            Response::Ended { completion, body_bytes, answered } => {
                if answered {
                    self.modes.answered(self.mode);
                } else {
                    self.mode = self.modes.current();
                }
                self.keep(*completion, body_bytes)
            }
            Response::Refused(error) => Err(error.into()),
        }
    }

    async fn call(&mut self, template: &Request, on_refusal: OnRefusal) -> Response {
        let number = self.outcome.turns;
        let (provider, mode) = (&*self.parts.provider, self.mode);
        let span = tracing::info_span!("turn", number, model = %provider.info().model);
        let (written, transcript) = (self.written, self.memory.transcript());
        let request = move || {
            let mut request = template.clone();
            request.messages = written.history(transcript, mode);
            request
        };
        let reading = response::read(provider, request, mode, on_refusal, &mut self.emitter);
        reading.instrument(span).await
    }

    async fn fall_back(&mut self, error: &ProviderError) {
        let reason = error.to_agent_error().message;
        tracing::warn!(%reason, "the provider refuses native tools; retrying in text mode");
        self.mode = self.modes.text(self.parts);
        let data = json!({ "from": "native", "to": "text", "reason": reason });
        let event = AgentEvent::Custom { name: CALL_MODE_FALLBACK.into(), data };
        self.emitter.emit_while_running(event).await;
    }

    fn keep(
        &mut self,
        completion: Completion,
        body_bytes: Vec<usize>,
    ) -> Result<Answer, AgentError> {
        let Completion { parts, text, refusal, tool_calls: calls, finish_reason, .. } = completion;
        if let Some(usage) = &completion.usage {
            self.outcome.usage.get_or_insert_with(UsageInfo::default).add(usage);
        }
        if let Some(message) = answer::message(parts, self.mode.native) {
            self.remember(message);
        }
        let outcome = &mut self.outcome;
        if mem::replace(&mut outcome.finish_reason, finish_reason) != Some(FinishReason::Pause) {
            outcome.text.clear();
        }
        let is_refusal = outcome.finish_reason == Some(FinishReason::Refusal) && text.is_empty();
        outcome.text.push_str(if is_refusal { &refusal } else { &text });
        let paused = outcome.finish_reason == Some(FinishReason::Pause);
        let is_cancelled = self.emitter.cancel().is_cancelled();
        let stopped = || is_cancelled.then(|| self.emitter.stop_error());
        if let Some(error) = completion.error.or_else(stopped) {
            self.refuse(&calls);
            return Err(error);
        }
        Ok(Answer { calls, fenced_calls: completion.fenced_calls, paused, body_bytes })
    }

    /// Answers calls that do not run, so that the history has a result for each.
    pub(super) fn refuse(&mut self, calls: &[ToolCall]) {
        self.remember_results(calls.iter().map(not_run).collect());
    }

    /// Keeps the results of calls.
    pub(super) fn remember_results(&mut self, results: Vec<ToolResult>) {
        if results.is_empty() {
            return;
        }
        let results = results.into_iter().map(Part::ToolResult).collect();
        self.remember(Message::new(MessageRole::Tool, results));
    }

    /// Answers the calls that a dropped run left without results, which servers refuse.
    fn complete_history(&mut self) {
        let Some(last) = self.memory.recent(1).first().cloned() else { return };
        let results: Vec<_> = last.tool_calls().map(not_run).map(Part::ToolResult).collect();
        if !results.is_empty() {
            self.memory.add(Message::new(MessageRole::Tool, results));
        }
    }

    /// Keeps a message.
    pub(super) fn remember(&mut self, message: Message) {
        self.memory.add(message);
        self.outcome.messages.extend(self.memory.recent(1).iter().cloned());
    }
}

fn not_run(call: &ToolCall) -> ToolResult {
    ToolResult::new(call.id.clone(), call.name.clone(), feedback::NOT_RUN).error(true)
}

/// Awaits `work` unless the run is cancelled; `None` then.
pub(super) async fn or_cancelled<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        done = work => Some(done),
    }
}
