//! The state of strings that may have quotes inside.

use super::{name::is_word_byte, string::StringText};

/// Bytes that are kept of the text before a quote.
const KEPT_BYTES: usize = 64;

/// The role of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Value,
    /// A key of a dict, which JSON writes as a string.
    Key,
    /// The first item in braces.
    KeyOrItem,
}

/// A quote that something must follow before it is clear what it is.
#[derive(Debug)]
pub(super) struct Suspect {
    pub(super) role: Role,
    pub(super) string: StringText,
    /// The text behind the quote.
    pub(super) held: String,
    /// The place of the call's parenthesis in it.
    pub(super) parenthesis: Option<usize>,
}

/// The quotes of one string that were text.
#[derive(Debug, Default)]
pub(super) struct Quoted {
    pub(super) count: usize,
    /// The end of the text behind the last of them.
    pub(super) behind: String,
}

impl Suspect {
    pub(super) fn new(role: Role, string: StringText) -> Self {
        Self { role, string, held: String::new(), parenthesis: None }
    }

    /// Returns the held text from the parenthesis on that ends the call, if the quote ends the string.
    pub(super) fn behind_arguments(&self) -> &str {
        self.parenthesis.and_then(|at| self.held.get(at..)).unwrap_or_default()
    }
}

impl Quoted {
    /// Keeps the end of the text before the next quote.
    pub(super) fn push(&mut self, text: &str) {
        self.behind.push_str(text);
        let surplus = self.behind.len().saturating_sub(KEPT_BYTES);
        self.behind.drain(..self.behind.ceil_char_boundary(surplus));
    }

    /// Returns `true` when the text before a quote looks like the start of another call, which a string
    /// that goes on would take in: `), g(a=`.
    pub(super) fn begins_call(&self) -> bool {
        let Some(name) = self.behind.trim_end().strip_suffix('=') else { return false };
        let is_word = |letter: char| u8::try_from(letter).map_or(true, is_word_byte);
        let call = name.trim_end().trim_end_matches(is_word).trim_end();
        let Some((front, _)) = call.rsplit_once(')') else { return false };
        front.len() + 1 < call.len() && call.ends_with('(')
    }
}
