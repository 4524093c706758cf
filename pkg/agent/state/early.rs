//! Calls that start while their answer is still in progress.

use std::{mem, sync::Arc};

use serde_json::json;

use super::{
    Answer, AskKind, CallId, Effect, Rules, Sealed,
    answers::joined,
    calls::{Call, Then},
    kept::Early,
    run_state::{Phase, RunState},
};
use crate::{agent::ANSWER_KEPT, types::AgentEvent};

impl RunState {
    /// Returns `true` when a call of the answer in progress may start before the answer ends.
    pub(super) fn may_begin_early(&self) -> bool {
        self.asking().is_some_and(|kind| !matches!(kind, AskKind::LastAnswer(_) | AskKind::Typed))
    }

    /// Starts a call of the answer in progress, unless the call must wait for the end of the answer.
    pub(super) fn called(&mut self, rules: &dyn Rules, sealed: Sealed, out: &mut Vec<Effect>) {
        let Sealed { call, body_bytes, message, ends } = sealed;
        self.look_outside(message.as_ref());
        let early = self.early.get_or_insert_default();
        early.message = joined(early.message.take(), message);
        early.ends = ends;
        self.calls.push(Call::new(body_bytes, call));
        let (calls, around) = self.around(rules);
        calls.begin(&around, out);
    }

    /// Ends the calls of an answer that was truncated or failed: calls that have not started do not
    /// run, and where `then` fails the run, running calls are told to stop.
    pub(super) fn end_calls(
        &mut self,
        rules: &dyn Rules,
        calls: Vec<Call>,
        then: Then,
        out: &mut Vec<Effect>,
    ) {
        if self.calls.is_empty() {
            self.refuse(&calls, then.why());
            return match then {
                Then::Turn => self.next_turn(out),
                Then::Fail(error) => self.fail(error, out),
            };
        }
        if matches!(then, Then::Fail(_)) && self.calls.running().next().is_some() {
            out.push(Effect::Stop);
        }
        self.phase = Phase::Calling;
        self.calls.complete(calls);
        self.calls.then(then);
        self.go_on_with_calls(rules, out);
    }

    /// Continues from an answer that was suspended after complete calls: the answer is kept up to the last of them.
    pub(super) fn keep_early(&mut self, rules: &dyn Rules, out: &mut Vec<Effect>) {
        let data = json!({ "turn": self.answer.turn, "calls": self.calls.len() });
        let ends = self.early.as_mut().map(|early| mem::take(&mut early.ends)).unwrap_or_default();
        let kept = AgentEvent::Custom { name: ANSWER_KEPT.into(), data };
        let end = AgentEvent::ApiCallEnd { duration_ms: 0, first_token_ms: None };
        let events = ends.into_iter().chain([kept, end]);
        out.extend(events.map(|event| Effect::Emit(Box::new(event))));
        self.keep_sealed();
        self.phase = Phase::Calling;
        self.resume_calls(rules, out);
    }

    /// Runs the calls that were running when the run was suspended again, where they are idempotent.
    pub(super) fn resume_calls(&mut self, rules: &dyn Rules, out: &mut Vec<Effect>) {
        let again = self.calls.interrupt(rules, self.is_cancelled(), out);
        let id = |place| CallId { answer: self.answer, place };
        out.extend(again.into_iter().map(|place| Effect::Run(id(place))));
        if !self.is_cancelled() {
            self.request_again(out);
        }
        self.go_on_with_calls(rules, out);
    }

    /// Takes what has arrived of the answer in progress, whose run is about to be aborted.
    pub(crate) fn keep_open(&mut self, answer: Answer) {
        let message = answer.message.map(Arc::new);
        self.early = Some(Box::new(Early { message, ends: Vec::new() }));
        self.calls.complete(Call::all(answer.calls, &answer.body_bytes));
    }

    /// Keeps the part that has arrived of an answer that will not complete.
    pub(super) fn keep_sealed(&mut self) {
        let sealed = self.early.take().and_then(|early| early.message).map(Arc::unwrap_or_clone);
        self.continued = 0;
        self.outcome.messages.extend(joined(self.cut.take(), sealed));
    }
}
