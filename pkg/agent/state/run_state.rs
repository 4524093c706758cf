//! The state of one run.

use std::{mem, sync::Arc, time::Duration};

use super::{
    AnswerId, AskKind, CallId, CancelReason, RunEffect, RunPrompt, RunRules, StepInput, UnixMillis,
    after_calls::AfterCalls,
    answer_calls::{AnswerCalls, CallPhase, CallPolicy, ClosedCalls},
    answer_in_progress::AnswerInProgress,
    breaker::FailureBreaker,
    content_refusal::ContentRefusals,
    message_inbox::MessageInbox,
    repeats::RepeatGuard,
    window_state::{SummaryRange, WindowState},
};
use crate::{
    approval::SessionGrant,
    config::{AtLimit, NoToolCall},
    prompts::feedback,
    run::{Budget, Limit, OutcomeKind, OutsideSources, RunContext, RunOutcome},
};
use forgeline_llm::AnswerSchema;
use forgeline_types::{AgentError, AgentEvent, Ending, ErrorCode, ErrorEvent, Message, ToolCall};
use serde::{Deserialize, Serialize};

/// The first version of the journal in which the denial of a call holds when the same call is made again.
pub(super) const KEEPS_DENIALS: u32 = 7;

/// The limits and policies of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunSpec {
    pub(crate) max_turns: u32,
    /// The limits other than `max_turns`.
    pub(crate) budget: Budget,
    pub(crate) at_limit: AtLimit,
    pub(crate) no_tool_call: NoToolCall,
    pub(crate) max_parallel_calls: usize,
    pub(crate) breaker_failures: u32,
    pub(crate) loop_guard: bool,
    pub(crate) continue_cut: u32,
    #[serde(default)]
    pub(crate) answer_repairs: u32,
}

/// The stage of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunPhase {
    /// The system prompt is being built.
    Preparing,
    /// An answer is in progress.
    Asking(AskKind),
    /// The beginning of the conversation is being summarized before an answer.
    Summarizing(AskKind),
    /// Calls of the answer are open.
    Calling,
    Done,
}

/// The run's answers that repeated themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnswerRepeats {
    Never,
    /// One, of which the model has yet to be informed.
    Untold,
    Told,
}

/// The decisions of one run, as plain data.
///
/// A driver performs the effects of each [`step`](Self::step) and supplies the next input. The text of an
/// answer does not stream through it: an answer is one input, and each of its calls is another.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct RunState {
    pub(super) spec: RunSpec,
    /// The user's input, until the prompt is built.
    input: Option<Message>,
    context: RunContext,
    /// The user's messages not yet delivered. Boxed, since most runs have none.
    pub(super) inbox: Option<Box<MessageInbox>>,
    prompt: RunPrompt,
    pub(super) phase: RunPhase,
    /// The id of the current answer.
    pub(super) answer: AnswerId,
    /// Consecutive answers without a call that were not accepted.
    pub(super) nudges: u32,
    /// `true` once the model was informed that words in the markup of a call are not one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_markup_told: bool,
    pub(super) repetition: AnswerRepeats,
    /// The partial answer that the length limit truncated and that is being continued.
    pub(super) cut: Option<Arc<Message>>,
    /// The number of times that the answer was continued.
    pub(super) continued: u32,
    /// Consecutive empty answers.
    pub(super) empty: u32,
    /// The refusals of the requests for the current answer. Boxed, since most runs have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<Box<ContentRefusals>>,
    /// Consecutive answers that the provider could not read.
    #[serde(default, skip_serializing_if = "super::window_state::is_zero")]
    pub(super) malformed: u32,
    /// The number of times that the model was asked again for an answer that does not match its schema.
    #[serde(default, skip_serializing_if = "super::window_state::is_zero")]
    pub(super) repaired: u32,
    /// The version of its journal, for a run that an older version of the library has journaled.
    #[serde(skip)]
    pub(super) older: Option<u32>,
    pub(super) calls: AnswerCalls,
    /// The answer in progress up to its last complete call. Boxed, since most runs have none.
    pub(super) early: Option<Box<AnswerInProgress>>,
    /// The schema that the final answer is bound to. Boxed, since most runs have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) goal: Option<Box<AnswerSchema>>,
    /// The permissions that people have granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) grants: Vec<SessionGrant>,
    /// The sources of the text from outside in the conversation, also where a memory drops the message.
    #[serde(rename = "has_outside_text", default, skip_serializing_if = "OutsideSources::is_none")]
    pub(super) outside: OutsideSources,
    /// The part of the conversation that is sent. Boxed, since most agents send everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) marks: Option<Box<WindowState>>,
    breaker: FailureBreaker,
    pub(super) guard: RepeatGuard,
    pub(super) cancelled: Option<CancelReason>,
    /// `true` when the events already include the error.
    pub(super) told: bool,
    /// The messages of the run, and the details reported at its end.
    pub(super) outcome: RunOutcome,
    /// The limits that cannot be measured and have been reported as such.
    pub(super) unmeasured: Vec<Limit>,
    /// The number of model answers of sub-agents.
    #[serde(default, skip_serializing_if = "super::window_state::is_zero")]
    pub(super) turns_below: u32,
    /// The time of the last input; it never goes back.
    pub(super) at: UnixMillis,
    /// The number of accepted inputs.
    taken: u64,
}

impl RunState {
    /// Returns the state of a run that starts at this time.
    pub(crate) fn new(
        run_id: forgeline_types::Text,
        spec: RunSpec,
        at: UnixMillis,
        context: RunContext,
        input: Message,
    ) -> Self {
        Self {
            spec,
            input: Some(input),
            context,
            inbox: None,
            prompt: RunPrompt::default(),
            phase: RunPhase::Preparing,
            answer: AnswerId::default(),
            nudges: 0,
            is_markup_told: false,
            repetition: AnswerRepeats::Never,
            cut: None,
            continued: 0,
            empty: 0,
            refused: None,
            malformed: 0,
            repaired: 0,
            older: None,
            calls: AnswerCalls::default(),
            early: None,
            goal: None,
            grants: Vec::new(),
            outside: OutsideSources::None,
            marks: None,
            breaker: FailureBreaker::new(spec.breaker_failures),
            guard: RepeatGuard::new(spec.loop_guard),
            cancelled: None,
            told: false,
            outcome: RunOutcome::new(run_id),
            unmeasured: Vec::new(),
            turns_below: 0,
            at,
            taken: 0,
        }
    }

    /// Starts with the permissions that a person has granted in the session.
    pub(crate) fn allow(&mut self, grants: Vec<SessionGrant>) {
        self.grants = grants;
    }

    /// Returns the user's message, until the prompt is built.
    pub(crate) fn input(&self) -> Option<&Message> {
        self.input.as_ref()
    }

    /// Returns the context that the input supplied.
    pub(crate) fn context(&self) -> &RunContext {
        &self.context
    }

    /// Returns the context that the input supplied, to change it where the run resumes in another process.
    pub(crate) fn context_mut(&mut self) -> &mut RunContext {
        &mut self.context
    }

    /// Returns the system prompt without the tools, and the tools that the run may not use.
    pub(crate) fn prompt(&self) -> &RunPrompt {
        &self.prompt
    }

    /// Returns the outcome so far, without its reason.
    pub(crate) fn outcome(&self) -> &RunOutcome {
        &self.outcome
    }

    /// Returns the outcome of a run that has ended.
    pub(crate) fn into_outcome(self) -> RunOutcome {
        self.outcome
    }

    /// Returns a call of the current answer.
    pub(crate) fn call(&self, call_id: CallId) -> Option<&ToolCall> {
        self.calls.get(call_id.place).filter(|_| call_id.answer == self.answer)
    }

    /// Returns the delay before a call runs.
    pub(crate) fn pause(&self, call_id: CallId) -> Duration {
        self.calls.pause(call_id.place)
    }

    /// Returns the kind of the answer in progress.
    pub(super) fn asking(&self) -> Option<AskKind> {
        if let RunPhase::Asking(kind) = self.phase { Some(kind) } else { None }
    }

    /// Returns `true` while an answer with complete calls is still in progress.
    pub(crate) fn has_early_calls(&self) -> bool {
        self.asking().is_some() && !self.calls.is_empty()
    }

    /// Returns `true` once the run has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.phase == RunPhase::Done
    }

    /// Returns `true` once the run has been cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.is_some()
    }

    /// Takes an input and appends the effects to perform to `out`.
    ///
    /// An input that does not fit changes nothing and has a single effect, its refusal.
    pub(crate) fn step(
        &mut self,
        rules: &dyn RunRules,
        at: UnixMillis,
        input: StepInput,
        out: &mut Vec<RunEffect>,
    ) {
        if let Some(refusal) = self.refusal(&input) {
            out.push(RunEffect::Refused(refusal));
            return;
        }
        self.taken += 1;
        // The time taken by people and clients does not count as the run's.
        let was_away = matches!(input, StepInput::Resumed) || self.waits_for_others();
        self.move_clock(at, was_away);
        let (first, barrier) = (self.outcome.messages.len(), out.len());
        out.push(RunEffect::Commit(first..first));
        let due = self.marks.as_ref().and_then(|marks| marks.due());
        WindowState::see(&mut self.marks, &input);
        match input {
            StepInput::Prepared(prompt) => self.prepared(rules, prompt, out),
            StepInput::Unprepared(error) => self.finish(OutcomeKind::Failed { error }, out),
            StepInput::Fitted(_, fitted) => self.fitted(rules, &fitted, out),
            StepInput::Outgrown(..) => self.outgrown(out),
            StepInput::Summed(_, summed) => {
                let before = due.map_or(0, |SummaryRange { tokens, .. }| tokens);
                self.summed(*summed, before, out);
            }
            StepInput::Called(_, sealed) => self.called(rules, *sealed, out),
            StepInput::Answered(_, answer) => self.answered(rules, *answer, out),
            StepInput::ContentRefused(_, refusal) => self.content_refused(rules, *refusal, out),
            StepInput::Ran(id, end) => {
                self.spend_below(end.below.as_deref(), out);
                // While the answer is in progress, the model works.
                if self.asking().is_none() {
                    self.leave_out(Duration::from_millis(end.waited_ms));
                }
                self.calls.end(id.place, *end, out);
                if self.phase == RunPhase::Calling {
                    self.go_on_with_calls(rules, out);
                }
            }
            StepInput::Decided(id, decided) => {
                self.decided(rules, id, *decided, out);
                if self.phase == RunPhase::Calling {
                    self.go_on_with_calls(rules, out);
                }
            }
            StepInput::Returned(id, returned) => {
                self.calls.returned(id.place, *returned, out);
                if self.phase == RunPhase::Calling {
                    self.go_on_with_calls(rules, out);
                }
            }
            StepInput::Resumed => self.resume(rules, out),
            StepInput::Said(said) => self.hear(said, out),
            StepInput::Cancelled(reason) => self.cancel(rules, reason, out),
        }
        if let Some(RunEffect::Commit(messages)) = out.get_mut(barrier) {
            messages.end = self.outcome.messages.len();
        }
    }

    /// Returns the ids of the running calls.
    pub(crate) fn running(&self) -> Vec<CallId> {
        let id = |place| CallId { answer: self.answer, place };
        self.calls.running().map(id).collect()
    }

    fn prepared(&mut self, rules: &dyn RunRules, mut prompt: RunPrompt, out: &mut Vec<RunEffect>) {
        let answer = prompt.answer.take();
        self.outside.add(&prompt.outside);
        self.prompt = prompt;
        if let Some(input) = self.input.take() {
            self.remember(input);
        }
        if let Some(answer) = answer {
            self.say(&answer, out);
            return self.finish(OutcomeKind::PromptAnswered, out);
        }
        self.first_turn(rules, out);
    }

    /// Requests the next answer, or applies the policy for a reached limit.
    pub(super) fn next_turn(&mut self, out: &mut Vec<RunEffect>) {
        let kind = if let Some(limit) = self.limit() {
            if self.spec.at_limit == AtLimit::Fail {
                return self.fail(self.limit_error(limit), out);
            }
            self.deliver_steers(out);
            self.remember(Message::user(feedback::answer_now(limit)));
            if self.goal.is_some() {
                return self.ask_typed(out);
            }
            AskKind::LastAnswer(limit)
        } else {
            self.deliver_steers(out);
            if self.repetition == AnswerRepeats::Untold {
                self.repetition = AnswerRepeats::Told;
                self.remember(Message::user(feedback::REPETITION));
            }
            if let Some(circle) = self.guard.take_untold() {
                self.remember(Message::user(circle));
            }
            AskKind::Turn
        };
        self.ask(kind, out);
    }

    pub(super) fn ask(&mut self, kind: AskKind, out: &mut Vec<RunEffect>) {
        self.outcome.turns += 1;
        self.answer = AnswerId { turn: self.outcome.turns, attempt: 0 };
        self.phase = RunPhase::Asking(kind);
        out.push(RunEffect::Ask(self.answer, kind));
    }

    fn cancel(&mut self, rules: &dyn RunRules, reason: CancelReason, out: &mut Vec<RunEffect>) {
        self.cancelled = Some(reason);
        match self.phase {
            RunPhase::Preparing => self.fail(reason.error(), out),
            RunPhase::Calling => self.go_on_with_calls(rules, out),
            // The answer arrives truncated, or the summary fails.
            RunPhase::Asking(_) | RunPhase::Summarizing(_) | RunPhase::Done => {}
        }
    }

    /// Ends the run because an input cannot be stored; open calls get a result.
    pub(crate) fn abort(
        &mut self,
        rules: &dyn RunRules,
        error: AgentError,
        out: &mut Vec<RunEffect>,
    ) {
        let (first, barrier) = (self.outcome.messages.len(), out.len());
        out.push(RunEffect::Commit(first..first));
        self.keep_sealed();
        self.calls.abandon(out);
        self.settle_calls(rules, out);
        let closed = mem::take(&mut self.calls).close();
        self.remember_results(closed.results);
        if let Some(RunEffect::Commit(messages)) = out.get_mut(barrier) {
            messages.end = self.outcome.messages.len();
        }
        if self.is_done() && matches!(self.outcome.reason, OutcomeKind::Failed { .. }) {
            return out.push(RunEffect::Finished);
        }
        self.fail(error, out);
    }

    /// Starts and settles calls as far as possible, and closes the answer after the last call.
    pub(super) fn go_on_with_calls(&mut self, rules: &dyn RunRules, out: &mut Vec<RunEffect>) {
        if self.settle_calls(rules, out) {
            self.close_calls(out);
        }
    }

    /// Starts and settles calls; returns `true` when none is open.
    fn settle_calls(&mut self, rules: &dyn RunRules, out: &mut Vec<RunEffect>) -> bool {
        let (calls, mut around) = self.around(rules);
        calls.go_on(&mut around, out)
    }

    /// Returns the calls of the answer, and what those calls depend on.
    pub(super) fn around<'a>(
        &'a mut self,
        rules: &'a dyn RunRules,
    ) -> (&'a mut AnswerCalls, CallPolicy<'a>) {
        let stage = match self.phase {
            _ if self.is_cancelled() => CallPhase::Cancelled,
            RunPhase::Asking(_) => CallPhase::Early,
            RunPhase::Preparing | RunPhase::Summarizing(_) | RunPhase::Calling | RunPhase::Done => {
                CallPhase::Answered
            }
        };
        let around = CallPolicy {
            keeps_denials: !self.is_before(KEEPS_DENIALS),
            rules,
            run_id: &self.outcome.run_id,
            answer: self.answer,
            grants: &self.grants,
            outside: &self.outside,
            withheld: &self.prompt.withheld,
            most: self.spec.max_parallel_calls,
            stage,
            breaker: &mut self.breaker,
            guard: &mut self.guard,
        };
        (&mut self.calls, around)
    }

    /// Stores the results of the answer's calls, none of which is open, and continues the run.
    fn close_calls(&mut self, out: &mut Vec<RunEffect>) {
        let ClosedCalls { results, ended_by, broken, then } = mem::take(&mut self.calls).close();
        self.remember_results(results);
        if let Some(reason) = self.cancelled.or_else(|| self.leaving()) {
            return self.fail(reason.error(), out);
        }
        if let Some(AfterCalls::Fail(error)) = then {
            return self.fail(error, out);
        }
        if let Some(reason) = ended_by {
            if let Some(text) = reason.text() {
                text.clone_into(&mut self.outcome.text);
            }
            if self.wants_value_after(&reason) {
                return self.ask_for_value(out);
            }
            return self.finish(reason, out);
        }
        let Some(message) = broken else { return self.next_turn(out) };
        self.fail(AgentError::new(ErrorCode::CircuitBreaker, message), out);
    }

    pub(super) fn fail(&mut self, error: AgentError, out: &mut Vec<RunEffect>) {
        self.finish(OutcomeKind::Failed { error }, out);
    }

    pub(super) fn finish(&mut self, reason: OutcomeKind, out: &mut Vec<RunEffect>) {
        self.outcome.messages.extend(self.cut.take());
        let may_go_on =
            !matches!(reason, OutcomeKind::Failed { .. } | OutcomeKind::LimitReached { .. });
        if may_go_on && self.limit().is_none() && self.deliver_at_end(out) {
            return self.next_turn(out);
        }
        self.hand_back(out);
        if let Some(error) = reason.error().filter(|_| !self.told) {
            let partial = !self.outcome.text.is_empty() && reason != OutcomeKind::Empty;
            if reason.ending() == Ending::Limit && self.outcome.text.is_empty() {
                error.message.as_str().clone_into(&mut self.outcome.text);
            }
            out.push(RunEffect::emit(AgentEvent::Error(ErrorEvent::new(error).partial(partial))));
            self.told = true;
        }
        out.push(RunEffect::Finished);
        self.outcome.reason = reason;
        self.phase = RunPhase::Done;
    }

    pub(super) fn remember(&mut self, message: Message) {
        self.look_outside(Some(&message));
        self.outcome.messages.push(Arc::new(message));
    }
}
