//! The limits of a run: what it has spent, and what happens at the end of it.

use serde_json::json;

use super::{Answer, Effect, RunState, Time};
use crate::{
    agent::{BUDGET_UNMEASURED, Budget, Limit, Spent},
    types::{AgentError, AgentEvent, ErrorCode},
};

impl RunState {
    /// Moves the clock of the run, which never goes back. While a run was put away, no time was spent.
    pub(super) fn move_clock(&mut self, at: Time, was_away: bool) {
        let later = self.at.max(at);
        if !was_away {
            self.outcome.spent.time += later.since(self.at);
        }
        self.at = later;
    }

    /// Counts an answer, and tells once of each limit that it does not count for.
    pub(super) fn spend(&mut self, answer: &Answer, out: &mut Vec<Effect>) {
        self.outcome.spent.add(answer.usage.as_ref(), answer.cost);
        let budget = &self.spec.budget;
        let unmeasured = [
            (Limit::Tokens, budget.tokens.is_some() && answer.usage.is_none()),
            (Limit::Cost, budget.cost.is_some() && answer.cost.is_none()),
        ];
        for (limit, is_unmeasured) in unmeasured {
            if is_unmeasured && answer.error.is_none() && !self.unmeasured.contains(&limit) {
                self.unmeasured.push(limit);
                let data = json!({ "limit": limit });
                let event = AgentEvent::Custom { name: BUDGET_UNMEASURED.into(), data };
                out.push(Effect::Emit(Box::new(event)));
            }
        }
    }

    /// Returns the first limit that is reached.
    pub(super) fn limit(&self) -> Option<Limit> {
        if self.outcome.turns >= self.spec.max_turns {
            return Some(Limit::Turns);
        }
        self.spec.budget.reached(&self.outcome.spent)
    }

    /// Returns the budget that is left; the answer that asked is one of its turns.
    pub(crate) fn left(&self) -> Budget {
        let Budget { turns, tokens, time, cost } = self.spec.budget;
        let spent = &self.outcome.spent;
        let used = spent.cost.unwrap_or_default();
        Budget {
            turns: turns.map(|most| most.saturating_sub(self.outcome.turns)),
            tokens: tokens.map(|most| most.saturating_sub(spent.tokens)),
            time: time.map(|most| most.saturating_sub(spent.time)),
            cost: cost.map(|most| most.less(used)),
        }
    }

    /// Returns the error of a run that ends at this limit.
    pub(super) fn limit_error(&self, limit: Limit) -> AgentError {
        let Budget { tokens, time, cost, .. } = self.spec.budget;
        let spent: &Spent = &self.outcome.spent;
        let (most, used) = match limit {
            Limit::Turns => {
                let turns = self.spec.max_turns;
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
