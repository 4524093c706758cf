//! The state of strings that may contain unescaped quotes.

use super::{name::is_word_byte, string::StringText};

/// The number of bytes of the text before a quote that are kept.
const KEPT_BYTES: usize = 64;

/// The role of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SuspectRole {
    Value,
    /// A key of a dict, which JSON writes as a string.
    Key,
    /// The first item in braces.
    KeyOrItem,
}

/// A quote whose meaning depends on the text that follows.
#[derive(Debug)]
pub(super) struct SuspectQuote {
    pub(super) role: SuspectRole,
    pub(super) string: StringText,
    /// The text after the quote.
    pub(super) held: String,
    /// The position of the call's parenthesis in that text.
    pub(super) parenthesis: Option<usize>,
}

/// The quotes in one string that were text.
#[derive(Debug, Default)]
pub(super) struct QuotedText {
    pub(super) count: usize,
    /// The end of the text after the last of them.
    pub(super) behind: String,
}

impl SuspectQuote {
    pub(super) fn new(role: SuspectRole, string: StringText) -> Self {
        Self { role, string, held: String::new(), parenthesis: None }
    }

    /// Returns the held text from the parenthesis that ends the call, if the quote ends the string.
    pub(super) fn behind_arguments(&self) -> &str {
        self.parenthesis.and_then(|at| self.held.get(at..)).unwrap_or_default()
    }
}

impl QuotedText {
    /// Keeps the end of the text before the next quote.
    pub(super) fn push(&mut self, text: &str) {
        self.behind.push_str(text);
        let surplus = self.behind.len().saturating_sub(KEPT_BYTES);
        self.behind.drain(..self.behind.ceil_char_boundary(surplus));
    }

    /// Returns `true` if the text before a quote looks like the start of another call, which would become part of a
    /// string that continues: `), g(a=`.
    pub(super) fn begins_call(&self) -> bool {
        let Some(name) = self.behind.trim_end().strip_suffix('=') else { return false };
        let is_word = |letter: char| u8::try_from(letter).map_or(true, is_word_byte);
        let call = name.trim_end().trim_end_matches(is_word).trim_end();
        let Some((front, _)) = call.rsplit_once(')') else { return false };
        front.len() + 1 < call.len() && call.ends_with('(')
    }
}
