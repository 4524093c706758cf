//! The steps that can follow an answer: its calls, the end of the run, the rest of a truncated answer, or a second request.

use std::{mem, sync::Arc};

use serde_json::json;

use super::{
    AskKind, CancelReason, ModelAnswer, RunEffect, RunRules,
    after_calls::AfterCalls,
    answer_calls::RunCall,
    run_state::{AnswerRepeats, RunPhase, RunState},
};
use crate::{
    config::{ANSWER_CONTINUED, NoToolCall},
    prompts::feedback,
    run::OutcomeKind,
};
use forgeline_types::{AgentError, AgentEvent, ErrorCode, FinishReason, Message, Part, UsageInfo};

impl RunState {
    /// Returns the messages that the request for this answer appends to the conversation, which does not keep them.
    pub(crate) fn aside(&self, kind: AskKind) -> Vec<Arc<Message>> {
        let says = |text| Arc::new(Message::user(text));
        match kind {
            AskKind::Turn | AskKind::Typed | AskKind::LastAnswer(_) => Vec::new(),
            AskKind::Continue => self.cut.iter().cloned().chain([says(feedback::GO_ON)]).collect(),
            AskKind::Again => vec![says(feedback::ANSWER_AGAIN)],
        }
    }

    pub(super) fn answered(
        &mut self,
        rules: &dyn RunRules,
        answer: ModelAnswer,
        out: &mut Vec<RunEffect>,
    ) {
        self.spend(&answer, out);
        let ModelAnswer { message, text, calls, body_bytes, fenced_calls, .. } = answer;
        self.look_outside(message.as_deref());
        let is_rest = self.phase == RunPhase::Asking(AskKind::Continue);
        let is_typed = self.phase == RunPhase::Asking(AskKind::Typed);
        let last = if let RunPhase::Asking(AskKind::LastAnswer(limit)) = self.phase {
            Some(limit)
        } else {
            None
        };
        let outcome = &mut self.outcome;
        if let Some(usage) = &answer.usage {
            outcome.usage.get_or_insert_with(UsageInfo::default).add(usage);
        }
        let before = mem::replace(&mut outcome.finish_reason, answer.finish_reason);
        let said = message.is_some() || !text.trim().is_empty();
        // A provider that paused continues the same answer.
        if is_rest || before == Some(FinishReason::Pause) {
            outcome.text.push_str(&text);
        } else {
            outcome.text = text;
        }
        self.told |= answer.told;
        let is_cut = (message.is_some() || is_rest)
            && calls.is_empty()
            && self.outcome.finish_reason.as_ref().is_some_and(FinishReason::is_limit);
        self.empty = if said { 0 } else { self.empty + 1 };
        self.early = None;
        let message = joined(self.cut.take(), message);
        let calls = RunCall::all(calls, &body_bytes);
        if is_cut && answer.error.is_none() && last.is_none() && self.may_continue() {
            self.cut = message;
            return self.go_on_with_answer(out);
        }
        self.continued = 0;
        self.outcome.messages.extend(message);
        let is_full = answer.error.as_ref().is_some_and(|e| e.code == ErrorCode::ContextExceeded);
        if is_rest && is_full && !answer.told && !self.is_cancelled() {
            // The rest does not fit: the answer stays truncated.
            self.outcome.finish_reason = before;
            return self.finish(OutcomeKind::Cut, out);
        }
        if let Some(error) = answer.error.or_else(|| self.cancelled.map(CancelReason::error)) {
            return self.end_calls(rules, calls, AfterCalls::Fail(error), out);
        }
        if is_typed && !self.has_finished(&FinishReason::Interrupted) {
            return self.finish(OutcomeKind::Answer, out);
        }
        if let Some(limit) = last {
            self.refuse(&calls, feedback::NOT_RUN);
            let reached = OutcomeKind::LimitReached { limit };
            let reason = if said { reached } else { self.say_nothing(out) };
            return self.finish(reason, out);
        }
        if self.has_finished(&FinishReason::Interrupted) {
            self.empty = 0;
            return self.end_calls(rules, calls, AfterCalls::Turn, out);
        }
        let is_repeated = self.has_finished(&FinishReason::Repetition);
        if is_repeated && self.repetition != AnswerRepeats::Never {
            let message = "the model repeats itself in spite of a warning; the run was stopped";
            let error = AgentError::new(ErrorCode::CircuitBreaker, message);
            return self.end_calls(rules, calls, AfterCalls::Fail(error), out);
        }
        if is_repeated {
            self.repetition = AnswerRepeats::Untold;
        }
        if !calls.is_empty() {
            self.nudges = 0;
            self.phase = RunPhase::Calling;
            self.calls.complete(calls);
            return self.go_on_with_calls(rules, out);
        }
        if is_repeated {
            return self.next_turn(out);
        }
        if self.has_finished(&FinishReason::Pause) {
            // The provider continues once its own message is sent back.
            return self.next_turn(out);
        }
        if !self.wants_a_call(rules, fenced_calls) {
            let is_given = said || is_rest;
            if is_given && self.goal().is_some() && !self.is_refused() {
                return self.ask_for_value(out);
            }
            return match (is_given || self.is_refused(), is_cut) {
                (false, _) => self.answer_is_empty(out),
                (true, true) => self.finish(OutcomeKind::Cut, out),
                (true, false) => self.finish(OutcomeKind::Answer, out),
            };
        }
        self.nudges += 1;
        out.push(RunEffect::Emit(Box::new(AgentEvent::NoToolCall)));
        self.remember(Message::user(feedback::no_call(fenced_calls > 0)));
        self.next_turn(out);
    }

    fn has_finished(&self, reason: &FinishReason) -> bool {
        self.outcome.finish_reason.as_ref() == Some(reason)
    }

    /// Returns `true` when the provider withheld the answer: asking again would have the same result.
    fn is_refused(&self) -> bool {
        self.has_finished(&FinishReason::Refusal) || self.has_finished(&FinishReason::ContentFilter)
    }

    /// Returns `true` when a truncated answer may be continued.
    fn may_continue(&self) -> bool {
        self.continued < self.spec.continue_cut
            && self.has_finished(&FinishReason::Length)
            && !self.is_cancelled()
            && self.limit().is_none()
    }

    /// Asks for the rest of a truncated answer.
    fn go_on_with_answer(&mut self, out: &mut Vec<RunEffect>) {
        self.continued += 1;
        let data = json!({ "turn": self.answer.turn, "times": self.continued });
        let event = AgentEvent::Custom { name: ANSWER_CONTINUED.into(), data };
        out.push(RunEffect::Emit(Box::new(event)));
        self.ask(AskKind::Continue, out);
    }

    /// Asks once more after an empty answer; after the second one the run ends.
    fn answer_is_empty(&mut self, out: &mut Vec<RunEffect>) {
        if self.empty < 2 && self.limit().is_none() {
            return self.ask(AskKind::Again, out);
        }
        let reason = self.say_nothing(out);
        self.finish(reason, out);
    }

    /// Adds the notice, in place of the model's answer, that the model has not answered.
    fn say_nothing(&mut self, out: &mut Vec<RunEffect>) -> OutcomeKind {
        self.say(feedback::NO_ANSWER, out);
        OutcomeKind::Empty
    }

    /// Adds this text in place of the model's answer: the text shown is the text kept.
    pub(super) fn say(&mut self, text: &str, out: &mut Vec<RunEffect>) {
        text.clone_into(&mut self.outcome.text);
        let content = text.into();
        let events = [
            AgentEvent::MessageStart,
            AgentEvent::MessageContent { content, refusal: false },
            AgentEvent::MessageEnd,
        ];
        out.extend(events.into_iter().map(|event| RunEffect::Emit(Box::new(event))));
        self.remember(Message::assistant(text));
    }

    fn wants_a_call(&self, rules: &dyn RunRules, fenced_calls: u32) -> bool {
        match self.spec.no_tool_call {
            NoToolCall::AcceptAsFinal => false,
            NoToolCall::Nudge(most) => {
                self.nudges < most && (fenced_calls > 0 || rules.has_tools(&self.prompt().withheld))
            }
        }
    }
}

/// Returns a truncated answer joined with its continuation.
pub(super) fn joined(
    cut: Option<Arc<Message>>,
    more: Option<Arc<Message>>,
) -> Option<Arc<Message>> {
    let (Some(cut), Some(more)) = (&cut, &more) else { return cut.or(more) };
    let mut whole = Message::clone(cut);
    for part in more.parts.iter().cloned() {
        match (whole.parts.last_mut(), part) {
            (Some(Part::Text { text }), Part::Text { text: more }) => text.push_str(&more),
            (_, part) => whole.parts.push(part),
        }
    }
    Some(Arc::new(whole))
}
