//! The ways to count the tokens of a text.

use super::text::estimate;

/// A way to count the tokens of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenCount {
    /// The name, by which counters are compared.
    name: &'static str,
    count: fn(&str) -> u64,
}

impl TokenCount {
    /// By runs of characters.
    pub(super) const RUNS: Self = Self::new("runs", estimate);

    pub(super) const fn new(name: &'static str, count: fn(&str) -> u64) -> Self {
        Self { name, count }
    }

    pub(super) fn text(self, text: &str) -> u64 {
        (self.count)(text)
    }
}

impl PartialEq for TokenCount {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TokenCount {}
