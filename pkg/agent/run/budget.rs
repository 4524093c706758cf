//! The budget of a run.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    llm::Cost,
    types::{UsageInfo, setters},
};

/// The limits of a run. They are looked at before the model is asked again; at one,
/// [`AgentConfig::at_limit`](crate::agent::AgentConfig::at_limit) says what happens. An answer that is
/// under way is not cut: see [`RunInput::deadline`](super::RunInput::deadline) for that.
///
/// The budget of an input narrows that of the agent, and never widens it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use forgeline::{agent::Budget, llm::Cost};
///
/// let budget = Budget::default().tokens(50_000).time(Duration::from_secs(120));
/// let budget = budget.cost("0.25".parse::<Cost>()?);
/// assert_eq!((budget.turns, budget.tokens), (None, Some(50_000)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Budget {
    /// Most answers of the model, those of agents below included. `None`: the agent's `max_turns` alone.
    pub turns: Option<u32>,
    /// Most tokens of all requests and answers together, as the provider reports them; a provider that
    /// reports none spends none, and an event says so once. `None`: no limit.
    pub tokens: Option<u64>,
    /// Longest time, without that in which the run was put away. `None`: no limit.
    pub time: Option<Duration>,
    /// Highest cost by the prices that the [catalog](crate::llm::ModelCard) has of the model; without a
    /// price there is no limit, and an event says so once. `None`: no limit.
    pub cost: Option<Cost>,
}

impl Budget {
    setters! {
        Budget:
        turns(some u32),
        tokens(some u64),
        time(some Duration),
        cost(some Cost),
    }

    /// Returns the lower one of each limit.
    #[must_use]
    pub fn narrowed(self, other: Self) -> Self {
        Self {
            turns: lower(self.turns, other.turns),
            tokens: lower(self.tokens, other.tokens),
            time: lower(self.time, other.time),
            cost: lower(self.cost, other.cost),
        }
    }

    /// Returns the name of a limit that is 0.
    pub(crate) fn zero(&self) -> Option<&'static str> {
        let zeros = [
            ("budget.turns", self.turns == Some(0)),
            ("budget.tokens", self.tokens == Some(0)),
            ("budget.time", self.time == Some(Duration::ZERO)),
            ("budget.cost", self.cost == Some(Cost::ZERO)),
        ];
        zeros.into_iter().find(|(_, is_zero)| *is_zero).map(|(name, _)| name)
    }

    /// Returns the first limit that is reached; turns are not looked at.
    pub(crate) fn reached(&self, spent: &Spent) -> Option<Limit> {
        let reached = [
            (Limit::Tokens, self.tokens.is_some_and(|most| spent.tokens >= most)),
            (Limit::Time, self.time.is_some_and(|most| spent.time >= most)),
            (
                Limit::Cost,
                self.cost.is_some_and(|most| spent.cost.is_some_and(|cost| cost >= most)),
            ),
        ];
        reached.into_iter().find(|(_, is_reached)| *is_reached).map(|(limit, _)| limit)
    }
}

fn lower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// A limit of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limit {
    /// The answers of the model.
    Turns,
    /// The tokens.
    Tokens,
    /// The time.
    Time,
    /// The cost.
    Cost,
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Turns => "turns",
            Self::Tokens => "tokens",
            Self::Time => "time",
            Self::Cost => "cost",
        })
    }
}

/// The use that a run has made of its budget.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{agent::DefaultAgent, llm::{Cost, demo::DemoProvider}};
///
/// let outcome = DefaultAgent::builder(DemoProvider::new()).build()?.run("What is 6 * 7?").await?;
/// assert!(outcome.spent.tokens > 0);
/// assert_eq!(outcome.spent.cost, None, "the demo has no price");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spent {
    /// The tokens that the provider reported, of input and output, those of agents below included.
    pub tokens: u64,
    /// The time, without that in which the run was put away.
    pub time: Duration,
    /// The cost; `None` when the price or the tokens of an answer are not known.
    pub cost: Option<Cost>,
}

impl Default for Spent {
    fn default() -> Self {
        Self { tokens: 0, time: Duration::ZERO, cost: Some(Cost::ZERO) }
    }
}

impl Spent {
    /// Adds an answer.
    pub(crate) fn add(&mut self, usage: Option<&UsageInfo>, cost: Option<Cost>) {
        let (input, output) =
            usage.map_or((None, None), |usage| (usage.input_tokens, usage.output_tokens));
        for tokens in [input, output].into_iter().flatten() {
            self.tokens = self.tokens.saturating_add(tokens);
        }
        self.cost = self.cost.zip(cost).map(|(sum, cost)| sum + cost);
    }
}
