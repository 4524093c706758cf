//! Starting a run, and resuming a suspended one.

use super::{AnswerId, RunEffect, RunRules, RunState, run_state::RunPhase};
use crate::notice::{AnswerRestartedNotice, Notice};

impl RunState {
    /// Appends the outstanding effects, which the driver of a starting run performs.
    pub(crate) fn pending(&self, out: &mut Vec<RunEffect>) {
        match self.phase {
            RunPhase::Preparing => out.push(RunEffect::Prepare),
            RunPhase::Asking(kind) => out.push(RunEffect::Ask(self.answer, kind)),
            RunPhase::Summarizing(_) => out.push(RunEffect::Summarize(self.answer)),
            RunPhase::Calling | RunPhase::Done => {}
        }
        out.extend(self.running().into_iter().map(RunEffect::Run));
        self.request_again(out);
    }

    /// Requests again what was in progress. Calls may have run already: only idempotent ones run again.
    pub(super) fn resume(&mut self, rules: &dyn RunRules, out: &mut Vec<RunEffect>) {
        match (self.phase, self.cancelled) {
            (RunPhase::Calling, _) => self.resume_calls(rules, out),
            (RunPhase::Asking(_), _) if self.has_early_calls() => self.keep_early(rules, out),
            (_, Some(reason)) => self.fail(reason.error(), out),
            (RunPhase::Asking(kind), None) => {
                self.answer.attempt += 1;
                let AnswerId { turn, attempt } = self.answer;
                let notice = Notice::AnswerRestarted(AnswerRestartedNotice { turn, attempt });
                out.push(RunEffect::emit(notice));
                out.push(RunEffect::Ask(self.answer, kind));
            }
            (RunPhase::Summarizing(_), None) => out.push(RunEffect::Summarize(self.answer)),
            (RunPhase::Preparing | RunPhase::Done, None) => out.push(RunEffect::Prepare),
        }
    }
}
