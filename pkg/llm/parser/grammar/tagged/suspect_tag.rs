//! A tag inside a value that may be data: in a JSON string, or of a call that is part of the value.

use crate::{llm::parser::grammar::open_string::OpenString, types::slice};

/// Longest text that is held back, in bytes with the tag; a longer one was data.
const MAX_HELD_BYTES: usize = 64 << 10;

/// Text held back from such a tag on, until it is known to be data or not.
#[derive(Debug)]
pub(super) struct SuspectTag {
    held: String,
    place: SuspectPlace,
}

/// The place of a tag that may be data, which tells by what it is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SuspectPlace {
    /// A JSON string: its end.
    String(OpenString),
    /// A call inside the value: the end of its function, which this text is, or of the call, if it is
    /// empty. Who reads the outer call passes them on only where the value goes on behind them.
    Call { end: &'static str },
}

impl SuspectPlace {
    /// Returns the inside of a string that `quote` ends.
    pub(super) const fn string(quote: &'static str) -> Self {
        Self::String(OpenString::new(quote))
    }
}

impl SuspectTag {
    /// Holds nothing yet; the tag is fed first.
    pub(super) const fn new(place: SuspectPlace) -> Self {
        Self { held: String::new(), place }
    }

    /// Returns `true` for a tag of a call inside the value.
    pub(super) fn is_of_call(&self) -> bool {
        matches!(self.place, SuspectPlace::Call { .. })
    }

    /// Returns the quote of the string, unless it has ended.
    pub(super) fn open_quote(&self) -> Option<&'static str> {
        let SuspectPlace::String(string) = self.place else { return None };
        (!string.has_ended()).then(|| string.quote())
    }

    /// Returns all held text, the tag first.
    pub(super) fn into_text(self) -> String {
        self.held
    }

    /// Reads on from `*at`; once it is known, returns `true` where the tag is data.
    pub(super) fn feed(&mut self, text: &str, at: &mut usize) -> Option<bool> {
        for next in slice(text, *at..).chars() {
            if self.held.len() >= MAX_HELD_BYTES {
                return Some(!self.is_of_call());
            }
            if let SuspectPlace::String(string) = &mut self.place {
                let verdict = string.push(next);
                if verdict.is_some() {
                    return verdict;
                }
            }
            self.held.push(next);
            *at += next.len_utf8();
            if let SuspectPlace::Call { end } = self.place
                && !end.is_empty()
                && self.held.ends_with(end)
            {
                return Some(true);
            }
        }
        None
    }
}
