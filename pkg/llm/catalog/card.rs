//! The card of a model.

use super::{Cost, KnownCapabilities, LongPrices, Prices};
use crate::types::UsageInfo;

/// The known facts about a model: its sizes, what it can do, what it costs.
///
/// These are facts of the day in [`seen`](Self::seen), not of today: vendors change prices, and give
/// old names new models. What is not known is `None`, never a guess and never zero. A model without
/// a card works as well: nothing asks the table for leave.
///
/// How a model writes calls and reasoning is known apart from this, by
/// [`Dialect::for_model`](crate::llm::parser::Dialect::for_model).
///
/// # Examples
///
/// ```
/// use forgeline::{llm::ModelCard, types::UsageInfo};
///
/// let card = ModelCard::for_model("claude-haiku-4-5-20251001").unwrap();
/// assert_eq!(card.context_tokens, Some(200_000));
///
/// let mut usage = UsageInfo::default();
/// usage.input_tokens = Some(12_000);
/// usage.cache_read_tokens = Some(10_000);
/// usage.output_tokens = Some(500);
/// let cost = card.cost(&usage).unwrap();
/// assert_eq!(cost.micro_dollars(), 2_000 + 1_000 + 2_500);
///
/// assert_eq!(ModelCard::for_model("my own model"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelCard {
    /// The name under which the table has the model, such as `claude-haiku-4.5`.
    pub name: &'static str,
    /// The maker of the model, or the only one who serves it under this name.
    pub vendor: &'static str,
    /// Tokens that prompt and answer may have together at most. Servers may be set up with less.
    pub context_tokens: Option<u64>,
    /// Tokens that one answer may have at most, reasoning included.
    pub max_output_tokens: Option<u64>,
    /// The capabilities that it is known to have or to lack.
    pub capabilities: KnownCapabilities,
    /// The prices of the vendor's own API. `None` too where the id says that another vendor serves it.
    pub prices: Option<Prices>,
    /// Its prices of requests with a long prompt, where they differ.
    pub long_prices: Option<LongPrices>,
    /// The day on which these facts were published so: year, month and day.
    pub seen: &'static str,
}

impl ModelCard {
    /// Returns the cost of a call that used these tokens; `None` when a price or a count that it
    /// takes is not known.
    ///
    /// Tokens that were read from or written to a cache are a part of the input and are counted once,
    /// at their own price. Writes count as those that are kept for the vendor's default time. Batches,
    /// faster tiers, searches, images and audio are not told apart by a [`UsageInfo`].
    #[must_use]
    pub fn cost(&self, usage: &UsageInfo) -> Option<Cost> {
        let long = self.long_prices.filter(|long| usage.input_tokens > Some(long.above_tokens));
        long.map(|long| long.prices).or(self.prices)?.cost(usage)
    }
}
