//! Token counts of one provider call.

use serde::{Deserialize, Serialize};

use super::setters;

/// Tokens used by one provider call. A count that the provider did not report is `None`, not zero.
///
/// # Examples
///
/// ```
/// use forgeline::types::UsageInfo;
///
/// let usage = UsageInfo::default().input_tokens(7).output_tokens(5);
/// assert_eq!(usage.total_tokens(), Some(12));
/// assert_eq!(usage.reasoning_tokens, None, "not reported");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct UsageInfo {
    /// Tokens of the prompt, including those read from and written to a prompt cache.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer, including reasoning if the provider counts it there.
    pub output_tokens: Option<u64>,
    /// The portion of `input_tokens` that was read from a prompt cache.
    pub cache_read_tokens: Option<u64>,
    /// The portion of `input_tokens` that was written to a prompt cache.
    pub cache_write_tokens: Option<u64>,
    /// The portion of `output_tokens` that was reasoning.
    pub reasoning_tokens: Option<u64>,
}

impl UsageInfo {
    /// Overwrites each count that `later` reports and keeps the others.
    pub fn merge(&mut self, later: &Self) {
        self.combine(later, |known, reported| reported.or(known));
    }

    /// Adds the counts of another call; a count stays `None` only if neither call reported it.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, |sum, more| match (sum, more) {
            (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
            (one, None) | (None, one) => one,
        });
    }

    fn combine(&mut self, other: &Self, join: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) {
        let pairs = [
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.cache_read_tokens, other.cache_read_tokens),
            (&mut self.cache_write_tokens, other.cache_write_tokens),
            (&mut self.reasoning_tokens, other.reasoning_tokens),
        ];
        for (own, others) in pairs {
            *own = join(*own, others);
        }
    }

    /// Returns the sum of input and output tokens, if both are known.
    #[must_use]
    pub fn total_tokens(&self) -> Option<u64> {
        self.input_tokens?.checked_add(self.output_tokens?)
    }

    setters! {
        UsageInfo:
        input_tokens(some u64),
        output_tokens(some u64),
        cache_read_tokens(some u64),
        cache_write_tokens(some u64),
        reasoning_tokens(some u64),
    }
}
