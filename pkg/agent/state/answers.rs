//! The steps that can follow an answer: its calls, the end of the run, the rest of a truncated answer, or a second request.

use std::{mem, sync::Arc};

use super::{
    AskKind, CancelReason, ModelAnswer, RunEffect, RunRules,
    after_calls::AfterCalls,
    answer_calls::RunCall,
    call_in_words::{CallMarkup, call_in_words},
    run_state::{AnswerRepeats, RunPhase, RunState},
};
use crate::{
    config::NoToolCall,
    notice::{AnswerAskedAgainNotice, AnswerContinuedNotice, Notice},
    prompts::feedback,
    run::{Limit, OutcomeKind},
};
use forgeline_llm::private::ask_again;
use forgeline_types::{
    AgentError, AgentEvent, Ending, ErrorCode, FinishReason, Message, MessageContentEvent, Part,
    UsageInfo,
};

impl RunState {
    /// Returns the messages that the request for this answer appends to the conversation, which does not keep them.
    pub(crate) fn aside(&self, kind: AskKind) -> Vec<Arc<Message>> {
        let says = |text| Arc::new(Message::user(text));
        match kind {
            AskKind::Turn | AskKind::Typed | AskKind::LastAnswer(_) => Vec::new(),
            AskKind::Continue => self.cut.iter().cloned().chain([says(feedback::GO_ON)]).collect(),
            AskKind::Again if self.malformed > 0 => vec![says(feedback::MALFORMED_AGAIN)],
            AskKind::Again => vec![says(feedback::ANSWER_AGAIN)],
        }
    }

    pub(super) fn answered(
        &mut self,
        rules: &dyn RunRules,
        answer: ModelAnswer,
        out: &mut Vec<RunEffect>,
    ) {
        self.refused = None;
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
            if last.is_none() && self.may_reread(&error) {
                return self.reread(rules, calls, &error, said, out);
            }
            if last.is_none() && self.may_repair(&error) {
                return self.repair(&error, is_typed, out);
            }
            return self.end_calls(rules, calls, AfterCalls::Fail(error), out);
        }
        self.malformed = 0;
        if is_typed && !self.has_finished(&FinishReason::Interrupted) {
            return self.finish(OutcomeKind::Answer, out);
        }
        if let Some(limit) = last {
            return self.end_at_limit(limit, &calls, said, out);
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
        if !is_cut && self.tell_markup(rules, out) {
            return;
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
        let (turn, times) = (self.answer.turn, self.continued);
        let notice = Notice::AnswerContinued(AnswerContinuedNotice { turn, times });
        out.push(RunEffect::emit(notice));
        self.ask(AskKind::Continue, out);
    }

    /// Asks once more after an empty answer; after the second one the run ends.
    fn answer_is_empty(&mut self, out: &mut Vec<RunEffect>) {
        if self.empty < 2 && self.limit().is_none() {
            self.announce_again(Ending::Empty, feedback::EMPTY, out);
            return self.ask(AskKind::Again, out);
        }
        feedback::NO_ANSWER.clone_into(&mut self.outcome.text);
        self.remember(Message::assistant(feedback::NO_ANSWER));
        self.finish(OutcomeKind::Empty, out);
    }

    /// Returns `true` when the model is asked once more after an answer that the provider could not read.
    fn may_reread(&self, error: &AgentError) -> bool {
        error.code == ErrorCode::MalformedAnswer
            && self.malformed == 0
            && !self.is_cancelled()
            && self.limit().is_none()
    }

    /// Returns `true` when the model is asked again for an answer that does not match its schema.
    fn may_repair(&self, error: &AgentError) -> bool {
        error.code == ErrorCode::InvalidAnswer
            && self.repaired < self.spec.answer_repairs
            && !self.is_cancelled()
            && self.limit().is_none()
    }

    /// Asks again for an answer that does not match its schema, and states the problem.
    fn repair(&mut self, error: &AgentError, is_typed: bool, out: &mut Vec<RunEffect>) {
        self.repaired += 1;
        self.announce_again(Ending::Invalid, &error.message, out);
        self.remember(Message::user(ask_again(&error.message)));
        if is_typed { self.ask_typed(out) } else { self.next_turn(out) }
    }

    /// Asks once more after an answer that the provider could not read; its calls do not run.
    fn reread(
        &mut self,
        rules: &dyn RunRules,
        calls: Vec<RunCall>,
        error: &AgentError,
        said: bool,
        out: &mut Vec<RunEffect>,
    ) {
        self.malformed += 1;
        self.announce_again(Ending::Malformed, &error.message, out);
        if !calls.is_empty() || !self.calls.is_empty() {
            return self.end_calls(rules, calls, AfterCalls::Reread, out);
        }
        if self.phase == RunPhase::Asking(AskKind::Typed) {
            self.remember(Message::user(feedback::MALFORMED_AGAIN));
            return self.ask_typed(out);
        }
        if said {
            self.remember(Message::user(feedback::MALFORMED_AGAIN));
            return self.next_turn(out);
        }
        self.ask(AskKind::Again, out);
    }

    /// Emits an event about an answer after which the model is asked once more.
    pub(super) fn announce_again(&self, ending: Ending, reason: &str, out: &mut Vec<RunEffect>) {
        let (turn, reason) = (self.answer.turn, reason.into());
        let notice = Notice::AnswerAskedAgain(AnswerAskedAgainNotice { turn, ending, reason });
        out.push(RunEffect::emit(notice));
    }

    /// Ends the run with its last answer at a limit: without a text it is the limit that the run ends with.
    fn end_at_limit(
        &mut self,
        limit: Limit,
        calls: &[RunCall],
        said: bool,
        out: &mut Vec<RunEffect>,
    ) {
        self.refuse(calls, feedback::NOT_RUN);
        if !self.outcome.text.trim().is_empty() {
            return self.finish(OutcomeKind::LimitReached { limit }, out);
        }
        let error = self.limit_error(limit);
        if !said {
            // The text kept is the text shown. A run of an older version kept another one.
            let told = if self.is_before(6) { feedback::NO_ANSWER } else { error.message.as_str() };
            self.remember(Message::assistant(told));
        }
        self.fail(error, out);
    }

    /// Adds this text in place of the model's answer: the text shown is the text kept.
    pub(super) fn say(&mut self, text: &str, out: &mut Vec<RunEffect>) {
        text.clone_into(&mut self.outcome.text);
        let events = [
            AgentEvent::MessageStart,
            AgentEvent::MessageContent(MessageContentEvent::new(text)),
            AgentEvent::MessageEnd,
        ];
        out.extend(events.into_iter().map(|event| RunEffect::Emit(Box::new(event))));
        self.remember(Message::assistant(text));
    }

    /// Asks the model again after an answer whose words stand in the markup of a call; returns `true` if it did.
    fn tell_markup(&mut self, rules: &dyn RunRules, out: &mut Vec<RunEffect>) -> bool {
        let Some(hint) = self.markup_hint(rules) else { return false };
        self.is_markup_told = true;
        out.push(RunEffect::Emit(Box::new(AgentEvent::NoToolCall)));
        self.remember(Message::user(hint));
        self.next_turn(out);
        true
    }

    /// Returns what to tell the model about an answer whose words stand in the markup of a call; once in a run, and only where it
    /// can call a tool.
    fn markup_hint(&self, rules: &dyn RunRules) -> Option<String> {
        let may_tell = !self.is_markup_told && !self.is_refused();
        let CallMarkup { opener, closer } =
            call_in_words(&self.outcome.text).filter(|_| may_tell)?;
        let has_tools = rules.has_tools(&self.prompt().withheld);
        has_tools.then(|| feedback::no_call_in(opener, closer))
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
            (Some(Part::Text { text, .. }), Part::Text { text: more, .. }) => text.push_str(&more),
            (_, part) => whole.parts.push(part),
        }
    }
    Some(Arc::new(whole))
}
