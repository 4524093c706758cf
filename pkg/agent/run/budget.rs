//! The budget of a run.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use forgeline_llm::Cost;
use forgeline_types::{UsageInfo, setters};

/// The limits of a run. They are checked before each further request to the model; when one is reached,
/// [`AgentConfig::at_limit`](crate::config::AgentConfig::at_limit) decides what happens. A response in
/// progress is not interrupted: see [`RunInput::deadline`](super::RunInput::deadline) for that.
///
/// The budget of an input narrows the agent's budget, and never widens it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use forgeline::{agent::run::Budget, llm::Cost};
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
    /// Maximum number of model responses, including those of sub-agents. `None`: the agent's `max_turns` alone.
    pub turns: Option<u32>,
    /// Maximum number of tokens of all requests and responses together, as the provider reports
    /// them; a provider that reports none uses none, and one event reports that. `None`: no limit.
    pub tokens: Option<u64>,
    /// Maximum time, excluding the time for which the run was suspended. `None`: no limit.
    pub time: Option<Duration>,
    /// Maximum cost by the model's prices in the [catalog](forgeline_llm::ModelCard); without a price
    /// the cost is not limited, and one event reports that. `None`: no limit.
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

    /// Returns the lower value of each limit.
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

    /// Returns the first limit that is reached; turns are not checked.
    pub(crate) fn reached(&self, spent: &Spending) -> Option<Limit> {
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
    /// The number of model responses.
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

/// The part of its budget that a run has used.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{agent::Agent, llm::{Cost, demo::DemoProvider}};
///
/// let outcome = Agent::builder(DemoProvider::new()).build()?.run("What is 6 * 7?").await?;
/// assert!(outcome.spent.tokens > 0);
/// assert_eq!(outcome.spent.cost, None, "the demo has no price");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spending {
    /// The input and output tokens that the provider reported, including those of sub-agents.
    pub tokens: u64,
    /// The time, excluding that for which the run was suspended.
    pub time: Duration,
    /// The cost; `None` when the price or the token count of a response is not known.
    pub cost: Option<Cost>,
}

impl Default for Spending {
    fn default() -> Self {
        Self { tokens: 0, time: Duration::ZERO, cost: Some(Cost::ZERO) }
    }
}

impl Spending {
    /// Adds a response.
    #[doc(hidden)]
    pub fn add(&mut self, usage: Option<&UsageInfo>, cost: Option<Cost>) {
        let (input, output) =
            usage.map_or((None, None), |usage| (usage.input_tokens, usage.output_tokens));
        for tokens in [input, output].into_iter().flatten() {
            self.tokens = self.tokens.saturating_add(tokens);
        }
        self.cost = self.cost.zip(cost).map(|(sum, cost)| sum + cost);
    }
}
