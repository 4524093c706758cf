//! Conversations larger than the model may read: messages left out, and messages summarized.

use super::{
    AskKind, CancelReason, RunEffect, RunRules, RunState, StepInput,
    run_state::RunPhase,
    window_state::{ConversationSummary, SummaryEnd, WindowCut, WindowState},
};
use crate::notice::{
    ContextSummarizedNotice, ContextSummaryFailedNotice, ContextTrimmedNotice, Notice,
};
use forgeline_types::UsageInfo;

impl RunState {
    /// Starts with the marks of the part of the conversation that is sent.
    pub(crate) fn begin_window(&mut self, marks: WindowState) {
        self.marks.get_or_insert(Box::new(marks));
    }

    /// Returns the marks of the part of the conversation that is sent.
    pub(crate) fn marks(&self) -> Option<&WindowState> {
        self.marks.as_deref()
    }

    /// Returns `true` when the beginning of the conversation may be summarized before the requested
    /// answer: once per turn, and while the budget allows it.
    pub(crate) fn may_summarize(&self) -> bool {
        let is_last = matches!(self.asking(), None | Some(AskKind::LastAnswer(_)));
        let was_there =
            self.marks.as_ref().is_some_and(|it| it.has_summed_before(self.answer.turn));
        !is_last && !was_there && self.spec.budget.reached(&self.outcome.spent).is_none()
    }

    /// Reports what is left out, and requests the answer again.
    pub(super) fn fitted(
        &mut self,
        rules: &dyn RunRules,
        fitted: &WindowCut,
        out: &mut Vec<RunEffect>,
    ) {
        let WindowCut { messages, results, tokens, tokens_before, .. } = fitted;
        if fitted.is_forced && messages + results == 0 {
            return self.refused_for_good(rules, out);
        }
        if messages + results > 0 {
            let (messages, results) = (*messages, *results);
            let (tokens, tokens_before) = (*tokens, *tokens_before);
            let trimmed = ContextTrimmedNotice { messages, results, tokens, tokens_before };
            out.push(RunEffect::emit(Notice::ContextTrimmed(trimmed)));
        }
        if let RunPhase::Asking(kind) = self.phase {
            out.push(RunEffect::Ask(self.answer, kind));
        }
    }

    /// Requests a summary of the beginning of the conversation.
    pub(super) fn outgrown(&mut self, out: &mut Vec<RunEffect>) {
        if let RunPhase::Asking(kind) = self.phase {
            self.phase = RunPhase::Summarizing(kind);
            out.push(RunEffect::Summarize(self.answer));
        }
    }

    /// Takes a summary or its failure, counts its cost, and continues to the answer.
    pub(super) fn summed(
        &mut self,
        summed: SummaryEnd,
        tokens_before: u64,
        out: &mut Vec<RunEffect>,
    ) {
        let RunPhase::Summarizing(kind) = self.phase else { return };
        let SummaryEnd { result, requests, usage, cost } = summed;
        if requests > 0 {
            self.outcome.spent.add(usage.as_ref(), cost);
        }
        if let Some(usage) = &usage {
            self.outcome.usage.get_or_insert_with(UsageInfo::default).add(usage);
        }
        if let Some(reason) = self.cancelled {
            return self.fail(CancelReason::error(reason), out);
        }
        let notice = match result {
            Ok(ConversationSummary { outside, messages, tokens, .. }) => {
                self.outside.add(&outside);
                Notice::ContextSummarized(ContextSummarizedNotice {
                    messages,
                    requests,
                    tokens,
                    tokens_before,
                })
            }
            Err(error) => {
                let error = error.message;
                Notice::ContextSummaryFailed(ContextSummaryFailedNotice { requests, error })
            }
        };
        out.push(RunEffect::emit(notice));
        if requests > 0 {
            self.announce_unmeasured(usage.is_none(), cost.is_none(), out);
        }
        if kind == AskKind::Turn {
            // The turn is the same, but events since then count: the budget may be exhausted now.
            self.outcome.turns -= 1;
            return self.next_turn(out);
        }
        self.phase = RunPhase::Asking(kind);
        out.push(RunEffect::Ask(self.answer, kind));
    }
}

impl WindowState {
    /// Updates the marks from an input; `None` stays `None` until the first input that defines marks.
    pub(crate) fn see(marks: &mut Option<Box<Self>>, input: &StepInput) {
        match input {
            StepInput::Fitted(_, fitted) => *marks = Some(Box::new(fitted.marks.clone())),
            StepInput::Outgrown(_, outgrown) => {
                marks.get_or_insert_default().due = Some(*outgrown);
            }
            StepInput::Summed(id, summed) => {
                marks.get_or_insert_default().take(id.turn, summed);
            }
            StepInput::ContentRefused(_, refusal) => {
                marks.get_or_insert_default().refuse(refusal);
            }
            StepInput::Answered(_, answer) => {
                if let Some(marks) = marks
                    && answer.error.is_none()
                {
                    marks.calibrate(answer.estimated, answer.usage.as_ref());
                }
            }
            StepInput::Prepared(_)
            | StepInput::Unprepared(_)
            | StepInput::Called(..)
            | StepInput::Ran(..)
            | StepInput::Decided(..)
            | StepInput::Returned(..)
            | StepInput::Said(_)
            | StepInput::Resumed
            | StepInput::Cancelled(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{AnswerId, ModelAnswer};

    fn answered(estimated: u64, reported: Option<u64>) -> StepInput {
        let usage = {
            let mut it = UsageInfo::default();
            it.input_tokens = reported;
            it
        };
        let answer = ModelAnswer { estimated, usage: Some(usage), ..ModelAnswer::default() };
        StepInput::Answered(AnswerId::default(), Box::new(answer))
    }

    // Covers: G-48
    #[test]
    fn the_last_report_sets_the_scale_within_bounds() {
        let mut marks = Some(Box::new(WindowState::default()));
        for (estimated, reported, scale) in [
            (1_000, Some(1_300), 1_300),
            (1_000, None, 1_300),
            (10, Some(90), 1_300),
            (1_000, Some(90_000), 4_000),
            (1_000, Some(3), 750),
            (1_000, Some(u64::MAX), 4_000),
        ] {
            WindowState::see(&mut marks, &answered(estimated, reported));
            let marks = marks.as_ref().unwrap();
            assert_eq!(marks.scale, scale, "{reported:?} for {estimated}");
            assert!(marks.in_scale(marks.out_of_scale(6_000)).abs_diff(6_000) <= 4);
        }
        let mut none = None;
        WindowState::see(&mut none, &answered(1_000, Some(1_300)));
        assert_eq!(none, None, "without a window nothing is kept");
    }
}
