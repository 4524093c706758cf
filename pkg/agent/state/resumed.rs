//! Starting a run, and resuming a suspended one.

use serde_json::json;

use super::{AnswerId, Effect, Rules, RunState, run_state::Phase};
use crate::{agent::ANSWER_RESTARTED, types::AgentEvent};

impl RunState {
    /// Appends the outstanding effects, which the driver of a starting run performs.
    pub(crate) fn pending(&self, out: &mut Vec<Effect>) {
        match self.phase {
            Phase::Preparing => out.push(Effect::Prepare),
            Phase::Asking(kind) => out.push(Effect::Ask(self.answer, kind)),
            Phase::Summarizing(_) => out.push(Effect::Summarize(self.answer)),
            Phase::Calling | Phase::Done => {}
        }
        out.extend(self.running().into_iter().map(Effect::Run));
        self.request_again(out);
    }

    /// Requests again what was in progress. Calls may have run already: only idempotent ones run again.
    pub(super) fn resume(&mut self, rules: &dyn Rules, out: &mut Vec<Effect>) {
        match (self.phase, self.cancelled) {
            (Phase::Calling, _) => self.resume_calls(rules, out),
            (Phase::Asking(_), _) if self.has_early_calls() => self.keep_early(rules, out),
            (_, Some(reason)) => self.fail(reason.error(), out),
            (Phase::Asking(kind), None) => {
                self.answer.attempt += 1;
                let AnswerId { turn, attempt } = self.answer;
                let data = json!({ "turn": turn, "attempt": attempt });
                let event = AgentEvent::Custom { name: ANSWER_RESTARTED.into(), data };
                out.push(Effect::Emit(Box::new(event)));
                out.push(Effect::Ask(self.answer, kind));
            }
            (Phase::Summarizing(_), None) => out.push(Effect::Summarize(self.answer)),
            (Phase::Preparing | Phase::Done, None) => out.push(Effect::Prepare),
        }
    }
}
