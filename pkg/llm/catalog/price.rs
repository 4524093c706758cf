//! Prices and costs, as integers.

use std::{fmt, iter::Sum, ops, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use forgeline_types::UsageInfo;

/// The prices of tokens, in micro-dollars (millionths of a US dollar) per million tokens:
/// 2,500,000 is
/// 2.50 dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prices {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the answer, reasoning included.
    pub output: u64,
    /// Tokens of the prompt that were read from a cache, when known.
    #[serde(default)]
    pub cache_read: Option<u64>,
    /// Tokens of the prompt that were written to a cache and kept there for the vendor's default
    /// time, when known.
    #[serde(default)]
    pub cache_write: Option<u64>,
}

/// The prices of requests with a long prompt. They apply to all tokens of such a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LongPrices {
    /// The number of input tokens above which these prices apply.
    pub above_tokens: u64,
    /// The prices.
    pub prices: Prices,
}

impl Prices {
    /// Creates the prices of a model in micro-dollars per million tokens; tokens of a cache are priced as input.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::{llm::Prices, types::UsageInfo};
    ///
    /// let usage = UsageInfo::default().input_tokens(1_000).output_tokens(10);
    /// let cost = Prices::new(2_500_000, 10_000_000).cost(&usage);
    /// assert_eq!(cost.unwrap().to_string(), "$0.002600");
    /// ```
    #[must_use]
    pub const fn new(input: u64, output: u64) -> Self {
        Self { input, output, cache_read: Some(input), cache_write: Some(input) }
    }

    /// Returns the cost of these tokens; `None` if a price or a count that is needed is unknown.
    #[must_use]
    pub fn cost(self, usage: &UsageInfo) -> Option<Cost> {
        let read = usage.cache_read_tokens.unwrap_or(0);
        let written = usage.cache_write_tokens.unwrap_or(0);
        // Both are part of the input. If they exceed it, the server is wrong, and nothing is left over.
        let fresh = usage.input_tokens?.saturating_sub(read).saturating_sub(written);
        let parts = [
            priced(fresh, Some(self.input))?,
            priced(usage.output_tokens?, Some(self.output))?,
            priced(read, self.cache_read)?,
            priced(written, self.cache_write)?,
        ];
        Some(parts.into_iter().sum())
    }

    /// Parses two prices in dollars per million tokens, those of input and output, such as `2.5,10`.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is anything else.
    pub fn from_dollars(text: &str) -> Result<Self, InvalidCost> {
        let invalid = || InvalidCost { text: text.to_owned() };
        let (input, output) = text.split_once(',').ok_or_else(invalid)?;
        let price = |dollars: &str| micro_dollars(dollars.trim().trim_start_matches('$'));
        let (input, output) = price(input).zip(price(output)).ok_or_else(invalid)?;
        Ok(Self::new(input, output))
    }

    /// Parses four prices in dollars, such as `2.5/10/0.25/-`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split('/');
        let mut next = || match fields.next()? {
            "-" => Some(None),
            dollars => micro_dollars(dollars).map(Some),
        };
        let (input, output, cache_read, cache_write) = (next()??, next()??, next()?, next()?);
        fields.next().is_none().then_some(Self { input, output, cache_read, cache_write })
    }
}

impl LongPrices {
    /// Parses `>272000:5/22.5/0.5/-`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (above, prices) = text.strip_prefix('>')?.split_once(':')?;
        Some(Self { above_tokens: above.parse().ok()?, prices: Prices::parse(prices)? })
    }
}

/// Returns the cost of `tokens`; no tokens cost nothing, even if the price is unknown.
fn priced(tokens: u64, price: Option<u64>) -> Option<Cost> {
    match (tokens, price) {
        (0, _) => Some(Cost::ZERO),
        (tokens, Some(price)) => {
            Some(Cost { pico_dollars: u128::from(tokens) * u128::from(price) })
        }
        (_, None) => None,
    }
}

/// Parses dollars with at most six digits after the decimal point.
fn micro_dollars(dollars: &str) -> Option<u64> {
    let (whole, fraction) = dollars.split_once('.').unwrap_or((dollars, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 6 || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let digits = fraction.bytes().chain([b'0'; 6]).take(6);
    let fraction = digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    whole.checked_mul(1_000_000)?.checked_add(fraction)
}

/// An exact amount of US dollars: multiplying a token count by a price loses nothing, so sums over many
/// calls do not drift.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost {
    /// The amount in pico-dollars: a micro-dollar per million tokens is a pico-dollar per token.
    pico_dollars: u128,
}

impl Cost {
    /// No dollars.
    pub const ZERO: Self = Self { pico_dollars: 0 };

    /// Returns the cost of this number of micro-dollars.
    #[must_use]
    pub const fn from_micro_dollars(micro: u64) -> Self {
        Self { pico_dollars: micro as u128 * 1_000_000 }
    }

    /// Returns this cost minus `other`, or zero if `other` is higher.
    #[doc(hidden)]
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self { pico_dollars: self.pico_dollars.saturating_sub(other.pico_dollars) }
    }

    /// Returns one of `parts` equal parts, rounded up.
    #[doc(hidden)]
    #[must_use]
    pub fn part(self, parts: u32) -> Self {
        Self { pico_dollars: self.pico_dollars.div_ceil(u128::from(parts.max(1))) }
    }

    /// Returns the cost in micro-dollars, rounded to the nearest, half up.
    #[must_use]
    pub fn micro_dollars(self) -> u64 {
        let rounded = self.pico_dollars.saturating_add(500_000) / 1_000_000;
        u64::try_from(rounded).unwrap_or(u64::MAX)
    }

    /// Returns the cost in dollars, for charts and metrics; sums are exact as [`Cost`] only.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::Cost;
    ///
    /// let dollars = Cost::from_micro_dollars(12_500).dollars();
    /// assert!((dollars - 0.0125).abs() < 1e-12);
    /// ```
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a figure to show")]
    pub fn dollars(self) -> f64 {
        self.pico_dollars as f64 / 1e12
    }
}

/// The error of parsing a text that is not a cost.
///
/// # Examples
///
/// ```
/// use forgeline::llm::Cost;
///
/// let error = "ten".parse::<Cost>().unwrap_err();
/// assert_eq!(error.to_string(), "`ten` is not a cost; give dollars with at most six decimals, such as 0.25");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a cost; give dollars with at most six decimals, such as 0.25")]
#[non_exhaustive]
pub struct InvalidCost {
    /// The text.
    pub text: String,
}

/// Parses dollars, such as `0.25` or `$0.25`.
impl FromStr for Cost {
    type Err = InvalidCost;

    fn from_str(text: &str) -> Result<Self, InvalidCost> {
        let dollars = text.strip_prefix('$').unwrap_or(text);
        let invalid = || InvalidCost { text: text.to_owned() };
        micro_dollars(dollars).map(Self::from_micro_dollars).ok_or_else(invalid)
    }
}

/// Serialized as a number of pico-dollars.
impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        u64::try_from(self.pico_dollars).unwrap_or(u64::MAX).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { pico_dollars: u64::deserialize(deserializer)?.into() })
    }
}

impl ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { pico_dollars: self.pico_dollars.saturating_add(other.pico_dollars) }
    }
}

impl ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::ZERO, |sum, cost| sum + cost)
    }
}

/// Displayed in dollars with six digits after the decimal point: `$0.001500`.
impl fmt::Display for Cost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micro = self.micro_dollars();
        write!(formatter, "${}.{:06}", micro / 1_000_000, micro % 1_000_000)
    }
}
