//! The ways to count the tokens of a text.

#[cfg(feature = "tokenizer")]
use super::exact::TokenVocabulary;
use super::text::estimate;

/// A way to count the tokens of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenCount {
    /// By runs of characters.
    Runs,
    /// By a vocabulary.
    #[cfg(feature = "tokenizer")]
    Exact(TokenVocabulary),
}

impl TokenCount {
    /// Returns the count by the vocabulary of a model; `None` if it is unknown.
    #[cfg(feature = "tokenizer")]
    pub(super) fn of_model(model: &str) -> Option<Self> {
        TokenVocabulary::of_model(model).map(Self::Exact)
    }

    pub(super) fn text(self, text: &str) -> u64 {
        match self {
            Self::Runs => estimate(text),
            #[cfg(feature = "tokenizer")]
            Self::Exact(vocabulary) => vocabulary.count(text),
        }
    }
}
