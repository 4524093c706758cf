//! Calls that start while their answer is still in progress.

use std::mem;

use super::{
    AskKind, CallId, CompleteCall, ModelAnswer, RunEffect, RunRules,
    after_calls::AfterCalls,
    answer_calls::RunCall,
    answer_in_progress::AnswerInProgress,
    answers::joined,
    run_state::{RunPhase, RunState},
};
use crate::notice::{AnswerKeptNotice, Notice};
use forgeline_types::{AgentEvent, ApiCallEndEvent};

impl RunState {
    /// Returns `true` when a call of the answer in progress may start before the answer ends.
    pub(super) fn may_begin_early(&self) -> bool {
        self.asking().is_some_and(|kind| !matches!(kind, AskKind::LastAnswer(_) | AskKind::Typed))
    }

    /// Starts a call of the answer in progress, unless the call must wait for the end of the answer.
    pub(super) fn called(
        &mut self,
        rules: &dyn RunRules,
        sealed: CompleteCall,
        out: &mut Vec<RunEffect>,
    ) {
        let CompleteCall { call, body_bytes, message, ends } = sealed;
        self.look_outside(message.as_deref());
        let early = self.early.get_or_insert_default();
        early.message = joined(early.message.take(), message);
        early.ends = ends;
        self.calls.push(RunCall::new(body_bytes, call));
        let (calls, around) = self.around(rules);
        calls.begin(&around, out);
    }

    /// Ends the calls of an answer that was truncated or failed: calls that have not started do not
    /// run, and where `then` fails the run, running calls are asked to stop.
    pub(super) fn end_calls(
        &mut self,
        rules: &dyn RunRules,
        calls: Vec<RunCall>,
        then: AfterCalls,
        out: &mut Vec<RunEffect>,
    ) {
        if self.calls.is_empty() && (calls.is_empty() || !then.tells_calls()) {
            self.refuse(&calls, then.why());
            return match then {
                AfterCalls::Turn | AfterCalls::Reread => self.next_turn(out),
                AfterCalls::Fail(error) => self.fail(error, out),
            };
        }
        if matches!(then, AfterCalls::Fail(_) | AfterCalls::Reread)
            && self.calls.running().next().is_some()
        {
            out.push(RunEffect::Stop);
        }
        self.phase = RunPhase::Calling;
        self.calls.complete(calls);
        self.calls.then(then);
        self.go_on_with_calls(rules, out);
    }

    /// Continues from an answer that was suspended after complete calls: the answer is kept up to the last of them.
    pub(super) fn keep_early(&mut self, rules: &dyn RunRules, out: &mut Vec<RunEffect>) {
        let kept = AnswerKeptNotice { turn: self.answer.turn, calls: self.calls.len() };
        let ends = self.early.as_mut().map(|early| mem::take(&mut early.ends)).unwrap_or_default();
        let kept = Notice::AnswerKept(kept).into();
        let end = AgentEvent::ApiCallEnd(ApiCallEndEvent::new(0));
        let events = ends.into_iter().chain([kept, end]);
        out.extend(events.map(|event| RunEffect::Emit(Box::new(event))));
        self.keep_sealed();
        self.phase = RunPhase::Calling;
        self.resume_calls(rules, out);
    }

    /// Runs the calls that were running when the run was suspended again, where they are idempotent.
    pub(super) fn resume_calls(&mut self, rules: &dyn RunRules, out: &mut Vec<RunEffect>) {
        let again = self.calls.interrupt(rules, self.is_cancelled(), out);
        let id = |place| CallId { answer: self.answer, place };
        out.extend(again.into_iter().map(|place| RunEffect::Run(id(place))));
        if !self.is_cancelled() {
            self.request_again(out);
        }
        self.go_on_with_calls(rules, out);
    }

    /// Takes what has arrived of the answer in progress, whose run is about to be aborted.
    pub(crate) fn keep_open(&mut self, answer: ModelAnswer) {
        self.early = Some(Box::new(AnswerInProgress { message: answer.message, ends: Vec::new() }));
        self.calls.complete(RunCall::all(answer.calls, &answer.body_bytes));
    }

    /// Keeps the part that has arrived of an answer that will not complete.
    pub(super) fn keep_sealed(&mut self) {
        let sealed = self.early.take().and_then(|early| early.message);
        self.continued = 0;
        self.outcome.messages.extend(joined(self.cut.take(), sealed));
    }
}
