//! The known facts about a model.

use super::{Cost, KnownCapabilities, LongPrices, Prices};
use forgeline_types::UsageInfo;

/// The known facts about a model: its sizes, capabilities and prices.
///
/// The facts are those of the day in [`seen`](Self::seen), not of today: vendors change prices, and give
/// old names to new models. An unknown value is `None`, never a guess and never zero. A model without
/// a card works as well: nothing depends on having one.
///
/// The way in which a model writes calls and reasoning is known separately, from
/// [`Dialect::for_model`](forgeline_parser::Dialect::for_model).
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
    /// The name of the model in the table, such as `claude-haiku-4.5`.
    pub name: &'static str,
    /// The maker of the model, or the only vendor that serves it under this name.
    pub vendor: &'static str,
    /// The maximum number of tokens of prompt and answer together. Servers may be configured with fewer.
    pub context_tokens: Option<u64>,
    /// The maximum number of tokens of one answer, including reasoning.
    pub max_output_tokens: Option<u64>,
    /// The capabilities that the model is known to have or lack.
    pub capabilities: KnownCapabilities,
    /// The prices of the vendor's own API. Also `None` if the id shows that another vendor serves the model.
    pub prices: Option<Prices>,
    /// The prices of requests with a long prompt, if they differ.
    pub long_prices: Option<LongPrices>,
    /// The day on which these facts were published, as year, month and day.
    pub seen: &'static str,
}

impl ModelCard {
    /// Returns the cost of a call that used these tokens; `None` if a price or a count that is needed
    /// is unknown.
    ///
    /// Tokens read from or written to a cache are part of the input and are counted once,
    /// at their own price. Writes are priced for the vendor's default retention time. Batches,
    /// faster tiers, searches, images and audio are not distinguished, since a [`UsageInfo`] does not report them.
    #[must_use]
    pub fn cost(&self, usage: &UsageInfo) -> Option<Cost> {
        let long = self.long_prices.filter(|long| usage.input_tokens > Some(long.above_tokens));
        long.map(|long| long.prices).or(self.prices)?.cost(usage)
    }
}
