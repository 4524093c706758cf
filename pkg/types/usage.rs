//! Token counts of one provider call.

use serde::{Deserialize, Serialize};

/// Tokens that one provider call used. A count that the provider did not report is `None`, not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct UsageInfo {
    /// Tokens of the prompt, tokens read from and written to a prompt cache included.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer, reasoning included where the provider counts it so.
    pub output_tokens: Option<u64>,
    /// The part of `input_tokens` that came from a prompt cache.
    pub cache_read_tokens: Option<u64>,
    /// The part of `input_tokens` that was written to a prompt cache.
    pub cache_write_tokens: Option<u64>,
    /// The part of `output_tokens` that was reasoning.
    pub reasoning_tokens: Option<u64>,
}

impl UsageInfo {
    /// Takes each count that `later` reports; keeps the others.
    pub fn merge(&mut self, later: &Self) {
        let pairs = [
            (&mut self.input_tokens, later.input_tokens),
            (&mut self.output_tokens, later.output_tokens),
            (&mut self.cache_read_tokens, later.cache_read_tokens),
            (&mut self.cache_write_tokens, later.cache_write_tokens),
            (&mut self.reasoning_tokens, later.reasoning_tokens),
        ];
        for (known, reported) in pairs {
            *known = reported.or(*known);
        }
    }

    /// Adds the counts of another call; a count stays `None` only when neither call reported it.
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.cache_read_tokens, other.cache_read_tokens),
            (&mut self.cache_write_tokens, other.cache_write_tokens),
            (&mut self.reasoning_tokens, other.reasoning_tokens),
        ];
        for (sum, more) in pairs {
            *sum = match (*sum, more) {
                (Some(left), Some(right)) => Some(left.saturating_add(right)),
                (one, None) | (None, one) => one,
            };
        }
    }

    /// Input and output together, when both are known.
    #[must_use]
    pub fn total_tokens(&self) -> Option<u64> {
        self.input_tokens?.checked_add(self.output_tokens?)
    }
}
