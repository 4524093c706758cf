//! The limits of a run: what has been spent, and what happens when a limit is reached.

use std::time::Duration;

use super::{ModelAnswer, RunEffect, RunState, UnixMillis};
use crate::{
    notice::{BudgetUnmeasuredNotice, Notice},
    run::{Budget, Limit, Spending, SpentBelow},
};
use forgeline_types::{AgentError, ErrorCode};

impl RunState {
    /// Advances the clock of the run, which never goes back. The time of a suspended run is not counted.
    pub(super) fn move_clock(&mut self, at: UnixMillis, was_away: bool) {
        let later = self.at.max(at);
        if !was_away {
            self.outcome.spent.time += later.since(self.at);
        }
        self.at = later;
    }

    /// Takes back time that was counted: people were waited for in it.
    pub(super) fn leave_out(&mut self, waited: Duration) {
        let time = &mut self.outcome.spent.time;
        *time = time.saturating_sub(waited);
    }

    /// Counts an answer, and reports once each limit for which the answer lacks data.
    pub(super) fn spend(&mut self, answer: &ModelAnswer, out: &mut Vec<RunEffect>) {
        self.outcome.spent.add(answer.usage.as_ref(), answer.cost);
        if answer.error.is_none() {
            self.announce_unmeasured(answer.usage.is_none(), answer.cost.is_none(), out);
        }
    }

    /// Counts what sub-agents have spent.
    pub(super) fn spend_below(&mut self, below: Option<&SpentBelow>, out: &mut Vec<RunEffect>) {
        let Some(below) = below else { return };
        self.add_below(*below);
        self.announce_unmeasured(false, below.cost.is_none(), out);
    }

    /// Adds what sub-agents have spent; also allowed after the end of the run.
    pub(crate) fn add_below(&mut self, below: SpentBelow) {
        self.turns_below = self.turns_below.saturating_add(below.turns);
        let spent = &mut self.outcome.spent;
        spent.tokens = spent.tokens.saturating_add(below.tokens);
        spent.cost = spent.cost.zip(below.cost).map(|(sum, cost)| sum + cost);
    }

    /// Reports once each limit that cannot be measured.
    pub(super) fn announce_unmeasured(
        &mut self,
        tokens: bool,
        cost: bool,
        out: &mut Vec<RunEffect>,
    ) {
        let budget = &self.spec.budget;
        let unmeasured = [
            (Limit::Tokens, budget.tokens.is_some() && tokens),
            (Limit::Cost, budget.cost.is_some() && cost),
        ];
        for (limit, is_unmeasured) in unmeasured {
            if is_unmeasured && !self.unmeasured.contains(&limit) {
                self.unmeasured.push(limit);
                let notice = Notice::BudgetUnmeasured(BudgetUnmeasuredNotice { limit });
                out.push(RunEffect::emit(notice));
            }
        }
    }

    /// Returns what the run and its sub-agents have spent.
    pub(crate) fn spent(&self) -> SpentBelow {
        SpentBelow::new(self.outcome.turns.saturating_add(self.turns_below), &self.outcome.spent)
    }

    /// Returns the first limit that is reached.
    pub(super) fn limit(&self) -> Option<Limit> {
        let used = self.outcome.turns.saturating_add(self.turns_below);
        let is_used_up = self.spec.budget.turns.is_some_and(|most| used >= most);
        if is_used_up || self.outcome.turns >= self.spec.max_turns {
            return Some(Limit::Turns);
        }
        self.spec.budget.reached(&self.outcome.spent)
    }

    /// Returns the remaining budget, where this time was waited for people and not yet left out; the answer that
    /// made the call counts as one of its turns.
    pub(crate) fn left(&self, waited: Duration) -> Budget {
        let (budget, time) = (self.spec.budget, self.outcome.spent.time.saturating_sub(waited));
        let time = budget.time.map(|most| most.saturating_sub(time));
        Budget { time, ..budget.without(self.spent()) }
    }

    /// Returns the number of calls that have not ended.
    pub(crate) fn open_calls(&self) -> usize {
        self.calls.open()
    }

    /// Returns the error of a run that ends at this limit.
    pub(super) fn limit_error(&self, limit: Limit) -> AgentError {
        let Budget { tokens, time, cost, .. } = self.spec.budget;
        let spent: &Spending = &self.outcome.spent;
        let (most, used) = match limit {
            Limit::Turns => {
                // Turns below count only towards the budget.
                let is_own = self.outcome.turns >= self.spec.max_turns;
                let shared = self.spec.budget.turns.filter(|_| !is_own);
                let turns = shared.unwrap_or(self.spec.max_turns);
                let message = format!(
                    "the limit of {turns} turns is reached; raise max_turns or ask for less"
                );
                return AgentError::new(ErrorCode::MaxTurns, message);
            }
            Limit::Tokens => {
                (format!("{} tokens", tokens.unwrap_or_default()), spent.tokens.to_string())
            }
            Limit::Time => (format!("{:?}", time.unwrap_or_default()), format!("{:?}", spent.time)),
            Limit::Cost => {
                let used = spent.cost.unwrap_or_default().to_string();
                (cost.unwrap_or_default().to_string(), used)
            }
        };
        let message =
            format!("the budget of {most} is spent ({used} used); raise it or ask for less");
        AgentError::new(ErrorCode::Budget, message)
    }
}
