//! Token counts of texts, by vocabularies that are compiled in.

use tiktoken_rs::{
    cl100k_base_singleton, o200k_base_singleton,
    tokenizer::{Tokenizer, get_tokenizer},
};

use super::{TokenEstimator, count::TokenCount};
use forgeline_json::slice;

/// Maximum length of a text that is counted at once, in bytes: longer ones are split into pieces, so that no text makes the
/// search for words backtrack further. If they are split before a space, the counts of the pieces add up to that of the whole.
const MAX_PIECE_BYTES: usize = 16 << 10;

impl TokenEstimator {
    /// Creates an estimator that counts texts by the vocabulary of an `OpenAI` model, such as `gpt-4.1`; returns `None` for a
    /// model whose vocabulary is not compiled in. The first count loads the vocabulary, which takes a fraction of a second.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::TokenEstimator;
    ///
    /// let exact = TokenEstimator::exact("gpt-4.1").unwrap();
    /// assert_eq!(exact.text("The harbour was quiet."), 5);
    /// assert_eq!(TokenEstimator::exact("unheard-of"), None);
    /// ```
    #[must_use]
    pub fn exact(model: &str) -> Option<Self> {
        TokenVocabulary::of_model(model)
            .map(|vocabulary| Self::with_count(vocabulary.token_count()))
    }
}

/// A vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenVocabulary {
    O200k,
    Cl100k,
}

impl TokenVocabulary {
    /// Returns the vocabulary of a model, by its name or a prefix of the name.
    fn of_model(model: &str) -> Option<Self> {
        // Dated and derived names begin with the name of the model.
        let found = get_tokenizer(model.rsplit('/').next().unwrap_or(model));
        match found? {
            Tokenizer::O200kBase | Tokenizer::O200kHarmony => Some(Self::O200k),
            Tokenizer::Cl100kBase => Some(Self::Cl100k),
            Tokenizer::P50kBase | Tokenizer::R50kBase | Tokenizer::P50kEdit | Tokenizer::Gpt2 => {
                None
            }
        }
    }

    fn token_count(self) -> TokenCount {
        match self {
            Self::O200k => TokenCount::new("o200k", |text| Self::O200k.count(text)),
            Self::Cl100k => TokenCount::new("cl100k", |text| Self::Cl100k.count(text)),
        }
    }

    /// Returns the number of tokens; texts that look like special tokens are ordinary text.
    fn count(self, text: &str) -> u64 {
        let words = match self {
            Self::O200k => o200k_base_singleton(),
            Self::Cl100k => cl100k_base_singleton(),
        };
        pieces(text).map(|piece| words.count_ordinary(piece) as u64).sum()
    }
}

/// Returns the pieces of the text that are counted at once.
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let end = text.floor_char_boundary(MAX_PIECE_BYTES);
        let space = || slice(text, ..end).rfind(' ').filter(|at| *at > MAX_PIECE_BYTES / 2);
        let at = if end == text.len() { end } else { space().unwrap_or(end) };
        let (piece, rest) = (slice(text, ..at), slice(text, at..));
        text = rest;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn models_have_their_vocabularies() {
        for (model, want) in [
            ("gpt-4.1", Some(TokenVocabulary::O200k)),
            ("gpt-4o-2024-08-06", Some(TokenVocabulary::O200k)),
            ("openai/gpt-5-mini", Some(TokenVocabulary::O200k)),
            ("gpt-4-0613", Some(TokenVocabulary::Cl100k)),
            ("gpt2", None),
            ("unheard-of", None),
        ] {
            assert_eq!(TokenVocabulary::of_model(model), want, "{model}");
        }
    }

    // Covers: G-46
    #[test]
    fn an_exact_count_needs_no_network_and_adds_up_over_pieces() {
        let estimator = TokenEstimator::exact("gpt-4.1").unwrap();
        for (text, tokens) in [
            ("Утром в гавани было тихо. Двое мужчин стояли на камнях.", 20),
            ("朝の港は静かだった。", 8),
            ("<|endoftext|>", 7),
            ("", 0),
        ] {
            assert_eq!(estimator.text(text), tokens, "{text}");
        }
        let prose = include_str!("text.rs");
        let words = o200k_base_singleton().count_ordinary(prose) as u64;
        assert!(TokenVocabulary::O200k.count(prose).abs_diff(words) <= 2);
        let count = pieces(&prose.repeat(9)).map(str::len).collect::<Vec<_>>();
        assert!(count.len() > 4 && count.iter().all(|len| *len <= MAX_PIECE_BYTES));
    }

    #[test]
    fn no_text_takes_long_or_breaks_the_count() {
        for text in ["a", " ", "\n", "á", "ß\u{301}", "0", "🦀", "'s", "\u{0}", "中", " \n"] {
            let (long, began) = (text.repeat(1 << 18), Instant::now());
            assert!(TokenVocabulary::O200k.count(&long) > 0);
            assert!(TokenVocabulary::Cl100k.count(&long) > 0);
            assert!(began.elapsed().as_secs() < 60, "{text:?}");
        }
    }
}
