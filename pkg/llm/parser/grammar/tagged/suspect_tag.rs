//! Tags inside a value that may be data: in a JSON string, or in a call that is part of the value.

use crate::grammar::open_string::OpenString;
use forgeline_json::slice;

/// Maximum length of the held text, in bytes including the tag; if it is exceeded, the tag was data.
const MAX_HELD_BYTES: usize = 64 << 10;

/// Text held from such a tag on, until it is known whether the tag is data.
#[derive(Debug)]
pub(super) struct SuspectTag {
    held: String,
    place: SuspectPlace,
}

/// The place of a tag that may be data, which determines how this is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SuspectPlace {
    /// A JSON string, whose end decides.
    String(OpenString),
    /// A call inside the value: the end of its function, which is this text, or the end of the call, if the text is
    /// empty. The reader of the outer call passes them on only if the value continues after them.
    Call { end: &'static str },
}

impl SuspectPlace {
    /// Returns the place inside a string that is ended by `quote`.
    pub(super) const fn string(quote: &'static str) -> Self {
        Self::String(OpenString::new(quote))
    }
}

impl SuspectTag {
    /// Creates an empty buffer; the tag is fed first.
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

    /// Returns the held text, beginning with the tag.
    pub(super) fn into_text(self) -> String {
        self.held
    }

    /// Continues from `*at`; once it is known, returns `true` if the tag is data.
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
