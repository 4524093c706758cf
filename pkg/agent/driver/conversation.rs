//! A run's conversation: its requests, their answers, and the messages that are kept.

use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    answer,
    response::{self, OnRefusal, Response},
    shared::Shared,
};
use crate::{
    agent::{
        CALL_MODE_FALLBACK,
        call_mode::{Mode, Modes, is_refusal},
        emitter::Emitter,
        parts::Parts,
        state::{Answer, AskKind, missing_results},
    },
    llm::{ProviderError, Request, ToolChoice},
    types::{AgentEvent, Completion, ErrorCode, FinishReason, Message},
};

/// The conversation of one run.
pub(super) struct Conversation<'a> {
    pub(super) agent: &'a Shared,
    pub(super) parts: &'a Parts,
    pub(super) modes: &'a Modes,
    /// The mode in force.
    pub(super) mode: &'a Mode,
    pub(super) emitter: Emitter,
    /// The request that all requests of the run are made from. In a box: it is as large as all else
    /// that a waiting run holds.
    pub(super) template: Option<Box<Request>>,
}

impl Conversation<'_> {
    fn request(&self, prompt: &str) -> Request {
        let caches = self.parts.provider.info().capabilities.prompt_caching;
        self.mode.request(&self.parts.request, prompt, caches)
    }

    /// Sends one request, with messages behind the conversation that it does not keep, and returns its
    /// answer, also that of one that failed.
    ///
    /// A provider that refuses native tools is asked once more in text, where that may help.
    pub(super) async fn ask(
        &mut self,
        prompt: &str,
        aside: &[Arc<Message>],
        turn: u32,
        kind: AskKind,
    ) -> Answer {
        self.emitter.begin_turn(turn);
        let mut template = match self.template.take() {
            Some(template) => template,
            None => Box::new(self.request(prompt)),
        };
        if matches!(kind, AskKind::LastAnswer(_)) && !template.tools.is_empty() {
            template.tool_choice = Some(ToolChoice::None);
        }
        let is_rest = kind == AskKind::Continue;
        let first = if is_rest {
            OnRefusal::HandBack(is_too_long)
        } else if self.modes.may_fall_back(self.agent.memory.lock().transcript()) {
            OnRefusal::HandBack(is_refusal)
        } else {
            OnRefusal::Fail
        };
        let mut response = self.call(&template, aside, turn, first).await;
        if !is_rest && let Response::Refused(error) = response {
            self.fall_back(&error).await;
            // A server in trouble is not asked twice as often because it might be the tools.
            *template = self.request(prompt).attempts_made(error.attempts());
            response = self.call(&template, aside, turn, OnRefusal::FailWith(error)).await;
            template.attempts_made = 0;
        }
        self.template = Some(template);
        match response {
            Response::Ended { completion, body_bytes, answered } => {
                if answered {
                    self.modes.answered(self.mode);
                } else {
                    self.mode = self.modes.current();
                }
                self.answer(*completion, body_bytes)
            }
            Response::Refused(error) => {
                let told = self.emitter.has_failed();
                Answer { error: Some(error.into()), told, ..Answer::default() }
            }
        }
    }

    async fn call(
        &mut self,
        template: &Request,
        aside: &[Arc<Message>],
        number: u32,
        on_refusal: OnRefusal,
    ) -> Response {
        let (provider, mode) = (&*self.parts.provider, self.mode);
        let span = tracing::info_span!("turn", number, model = %provider.info().model);
        let Shared { memory, written, .. } = self.agent;
        let request = move || {
            let mut request = template.clone();
            request.messages = written.history(memory.lock().transcript(), mode);
            for message in aside {
                request.messages.push(Arc::clone(message));
            }
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

    fn answer(&self, completion: Completion, body_bytes: Vec<usize>) -> Answer {
        let Completion { parts, text, refusal, tool_calls: calls, finish_reason, .. } = completion;
        let usage = completion.usage;
        let cost = usage.as_ref().and_then(|usage| self.parts.card()?.cost(usage));
        let is_refusal = finish_reason == Some(FinishReason::Refusal) && text.is_empty();
        Answer {
            message: answer::message(parts, self.mode.native),
            text: if is_refusal { refusal } else { text },
            calls,
            body_bytes,
            fenced_calls: completion.fenced_calls,
            usage,
            cost,
            finish_reason,
            error: completion.error,
            told: self.emitter.has_failed(),
        }
    }

    /// Answers the calls that a dropped run left without results, which servers refuse.
    pub(super) fn complete_history(&self) {
        let mut memory = self.agent.memory.lock();
        let last = memory.recent(1).first();
        if let Some(results) = last.and_then(|last| missing_results(last)) {
            memory.add(Arc::new(results));
        }
    }
}

/// Returns `true` when the request does not fit into the context.
fn is_too_long(error: &ProviderError) -> bool {
    error.code() == ErrorCode::ContextExceeded
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
