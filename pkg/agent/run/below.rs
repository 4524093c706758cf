//! The budget used by the runs of sub-agents.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Budget, Spending};
use forgeline_llm::Cost;

/// The part of a budget that runs of sub-agents have used. Their time counts as that of the parent run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpentBelow {
    pub(crate) turns: u32,
    pub(crate) tokens: u64,
    /// `None` when the price or the token count of an answer is not known.
    pub(crate) cost: Option<Cost>,
}

impl SpentBelow {
    #[doc(hidden)]
    pub const NOTHING: Self = Self { turns: 0, tokens: 0, cost: Some(Cost::ZERO) };

    /// Returns what a run and the runs of its sub-agents have used.
    #[doc(hidden)]
    pub fn new(turns: u32, spent: &Spending) -> Self {
        Self { turns, tokens: spent.tokens, cost: spent.cost }
    }

    /// Returns the sum of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            turns: self.turns.saturating_add(other.turns),
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.zip(other.cost).map(|(one, other)| one + other),
        }
    }

    /// Returns the rest after subtracting `part`, which was counted earlier; a cost unknown in either stays unknown.
    pub(crate) fn less(self, part: Self) -> Self {
        Self {
            turns: self.turns.saturating_sub(part.turns),
            tokens: self.tokens.saturating_sub(part.tokens),
            cost: self.cost.zip(part.cost).map(|(all, part)| all.less(part)),
        }
    }

    /// Returns the larger of each value; an unknown cost counts as zero.
    pub(crate) fn or_more(self, other: Self) -> Self {
        Self {
            turns: self.turns.max(other.turns),
            tokens: self.tokens.max(other.tokens),
            cost: Some(self.cost.unwrap_or_default().max(other.cost.unwrap_or_default())),
        }
    }
}

impl Budget {
    /// Returns what is left of the budget after this use.
    pub(crate) fn without(self, used: SpentBelow) -> Self {
        let Self { turns, tokens, time, cost } = self;
        Self {
            turns: turns.map(|most| most.saturating_sub(used.turns)),
            tokens: tokens.map(|most| most.saturating_sub(used.tokens)),
            time,
            cost: cost.map(|most| most.less(used.cost.unwrap_or_default())),
        }
    }

    /// Returns what is left of the budget after this time has passed.
    pub(crate) fn after(self, passed: Duration) -> Self {
        Self { time: self.time.map(|most| most.saturating_sub(passed)), ..self }
    }

    /// Returns one of `parts` equal parts, rounded up; the time is not divided.
    pub(crate) fn part(self, parts: u32) -> Self {
        let parts = parts.max(1);
        Self {
            turns: self.turns.map(|most| most.div_ceil(parts)),
            tokens: self.tokens.map(|most| most.div_ceil(parts.into())),
            time: self.time,
            cost: self.cost.map(|most| most.part(parts)),
        }
    }

    /// Returns the maximum use that the budget allows; a limit that is not set counts as zero.
    pub(crate) fn most(self) -> SpentBelow {
        SpentBelow {
            turns: self.turns.unwrap_or_default(),
            tokens: self.tokens.unwrap_or_default(),
            cost: Some(self.cost.unwrap_or_default()),
        }
    }
}
