//! The answer that is bound to the schema of the run's input, after the turns with tools.

use super::{AskKind, RunEffect, RunRules, run_state::RunState};
use crate::{
    config::AtLimit,
    notice::{AnswerTypedNotice, Notice},
    prompts::feedback,
    run::OutcomeKind,
};
use forgeline_llm::AnswerSchema;
use forgeline_types::Message;

impl RunState {
    /// Binds the final answer to a schema.
    pub(crate) fn bind(&mut self, goal: Option<Box<AnswerSchema>>) {
        self.goal = goal;
    }

    /// Returns the schema that the final answer is bound to.
    pub(crate) fn goal(&self) -> Option<&AnswerSchema> {
        self.goal.as_deref()
    }

    /// Requests the first answer, which is the bound one when no tool can be called before it.
    pub(super) fn first_turn(&mut self, rules: &dyn RunRules, out: &mut Vec<RunEffect>) {
        if self.goal.is_some() && !rules.has_tools(&self.prompt().withheld) {
            return self.ask_typed(out);
        }
        self.next_turn(out);
    }

    /// Returns `true` when a run that a tool has ended continues with its bound answer. A question
    /// goes to the user first.
    pub(super) fn wants_value_after(&self, reason: &OutcomeKind) -> bool {
        self.goal.is_some() && !matches!(reason, OutcomeKind::QuestionAsked { .. })
    }

    /// Requests the bound answer once the model has finished its work.
    pub(super) fn ask_for_value(&mut self, out: &mut Vec<RunEffect>) {
        let limit = self.limit();
        if limit.is_none() && self.deliver_at_end(out) {
            return self.next_turn(out);
        }
        if let Some(limit) = limit.filter(|_| self.spec.at_limit == AtLimit::Fail) {
            return self.fail(self.limit_error(limit), out);
        }
        self.remember(Message::user(feedback::ANSWER_TYPED));
        self.ask_typed(out);
    }

    /// Requests the bound answer and emits an event about it.
    pub(super) fn ask_typed(&mut self, out: &mut Vec<RunEffect>) {
        let notice = Notice::AnswerTyped(AnswerTypedNotice { turn: self.outcome.turns + 1 });
        out.push(RunEffect::emit(notice));
        self.ask(AskKind::Typed, out);
    }
}
