//! A tag inside a JSON string of a value: data, or the end of a value whose string is broken.

use crate::{llm::parser::grammar::open_string::OpenString, types::slice};

/// Longest text that is held back, in bytes with the tag; a longer one was data.
const MAX_HELD_BYTES: usize = 64 << 10;

/// Text held back from such a tag on, until its string ends.
#[derive(Debug)]
pub(super) struct SuspectTag {
    held: String,
    string: OpenString,
}

impl SuspectTag {
    /// Holds nothing yet; the tag is fed first.
    pub(super) const fn new(quote: &'static str) -> Self {
        Self { held: String::new(), string: OpenString::new(quote) }
    }

    /// Returns the quote of the string, unless it has ended.
    pub(super) fn open_quote(&self) -> Option<&'static str> {
        (!self.string.has_ended()).then(|| self.string.quote())
    }

    /// Returns all held text, the tag first.
    pub(super) fn into_text(self) -> String {
        self.held
    }

    /// Reads on from `*at`; once it is known, returns `true` where the tag is data.
    pub(super) fn feed(&mut self, text: &str, at: &mut usize) -> Option<bool> {
        for next in slice(text, *at..).chars() {
            if self.held.len() >= MAX_HELD_BYTES {
                return Some(true);
            }
            let verdict = self.string.push(next);
            if verdict.is_some() {
                return verdict;
            }
            self.held.push(next);
            *at += next.len_utf8();
        }
        None
    }
}
