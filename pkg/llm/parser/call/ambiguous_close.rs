//! A closer inside a string or value, or an opener inside a string: data, or the end of a call whose string is broken.

use super::{body::CallBody, inner_opener::InnerOpener};
use crate::{
    ahead::found::{MarkerMatch, TextAhead},
    compiled::tools::{BodyRole, CompiledForm},
    grammar::{MarkerGuard, OpenString, ValueTag},
};
use forgeline_json::slice;

/// Maximum length of the held text, in bytes including the closer; if it is exceeded, the closer was data.
const MAX_HELD_BYTES: usize = 64 << 10;

/// The same after an opener in a string, which is data if the string does not end before.
const MAX_OPENER_BYTES: usize = 256;

/// The meaning of an ambiguous closer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseVerdict {
    /// More text decides.
    Unknown,
    /// The closer is part of the string.
    Data,
    /// All that is held is part of the value, which ends with it.
    Value,
    /// The string is broken: the call ended at the closer.
    Closer,
    /// The value is broken, and all that is held is part of it.
    Broken,
}

/// Text held back from an ambiguous closer on, until the string or value ends.
#[derive(Debug)]
pub(super) struct AmbiguousClose {
    held: String,
    closer_bytes: usize,
    role: BodyRole,
    state: ClosePhase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClosePhase {
    /// In a string, or directly after it; a string `in_value` may be broken without ending the call.
    InString { string: OpenString, in_value: bool },
    /// In a value that is ended by a tag of its grammar, which is searched for from byte `from`; with
    /// `has_opener` if the opener of another call has been found.
    InValue { from: usize, has_opener: bool },
    /// In a line of text, the rest of which decides.
    Line,
    /// Behind an opener in an element.
    InElement(InnerOpener),
}

impl AmbiguousClose {
    /// Holds `closer`, a marker with this role found under `guard`; returns `None` if it is unambiguous.
    pub(super) fn new(closer: &str, role: BodyRole, guard: MarkerGuard) -> Option<Self> {
        let state = match guard {
            MarkerGuard::InString(quote) => {
                ClosePhase::InString { string: OpenString::new(quote), in_value: false }
            }
            MarkerGuard::InValueString(quote) => {
                ClosePhase::InString { string: OpenString::new(quote), in_value: true }
            }
            MarkerGuard::InValue => ClosePhase::InValue { from: closer.len(), has_opener: false },
            MarkerGuard::InLine => ClosePhase::Line,
            MarkerGuard::InElement => ClosePhase::InElement(InnerOpener::new(closer.len())),
            MarkerGuard::Open
            | MarkerGuard::Closed
            | MarkerGuard::ClosersOnly
            | MarkerGuard::BehindName => return None,
        };
        Some(Self { held: closer.to_owned(), closer_bytes: closer.len(), role, state })
    }

    /// Returns the role of the closer.
    pub(super) fn role(&self) -> BodyRole {
        self.role
    }

    /// Returns the held text, beginning with the closer.
    pub(super) fn text(&self) -> &str {
        &self.held
    }

    /// Returns the closer.
    pub(super) fn closer(&self) -> &str {
        slice(&self.held, ..self.closer_bytes)
    }

    /// Returns the held text after the closer.
    pub(super) fn behind_closer(&self) -> &str {
        slice(&self.held, self.closer_bytes..)
    }

    /// Returns `true` for a closer in a string rather than in a value.
    pub(super) fn is_in_string(&self) -> bool {
        matches!(self.state, ClosePhase::InString { in_value: false, .. })
    }

    /// Returns `true` for a closer in a string of a value.
    pub(super) fn is_in_value_string(&self) -> bool {
        matches!(self.state, ClosePhase::InString { in_value: true, .. })
    }

    /// Returns `true` for an opener in an element.
    pub(super) fn is_in_element(&self) -> bool {
        matches!(self.state, ClosePhase::InElement(_))
    }

    /// Returns `true` if only the byte after the string is still missing.
    pub(super) fn has_string_ended(&self) -> bool {
        matches!(self.state, ClosePhase::InString { string, .. } if string.has_ended())
    }

    /// Continues from `*at`. In a value, text up to the first tag that ends it is held, independently of how the
    /// input is split.
    pub(super) fn feed(
        &mut self,
        text: &str,
        at: &mut usize,
        body: &CallBody,
        form: &CompiledForm,
    ) -> CloseVerdict {
        let is_brief = self.role == BodyRole::Opener && !self.is_in_element();
        let most = if is_brief { MAX_OPENER_BYTES } else { MAX_HELD_BYTES };
        while let Some(next) = slice(text, *at..).chars().next() {
            if self.held.len() >= most {
                return CloseVerdict::Data;
            }
            if let ClosePhase::InString { string, .. } = self.state {
                let plain = string.plain_bytes(slice(text, *at..));
                let room = (*at + plain.min(most - self.held.len())).min(text.len());
                let to = text.ceil_char_boundary(room);
                if to > *at {
                    self.held.push_str(slice(text, *at..to));
                    *at = to;
                    continue;
                }
            }
            if self.state == ClosePhase::Line && !matches!(next, ' ' | '\t') {
                let is_end = matches!(next, '\n' | '\r' | '<');
                return if is_end { CloseVerdict::Closer } else { CloseVerdict::Data };
            }
            if let ClosePhase::InValue { from, .. } = self.state {
                self.held.push(next);
                let verdict =
                    if next == '>' { self.by_tag(from, body, form) } else { CloseVerdict::Unknown };
                *at += next.len_utf8();
                if verdict != CloseVerdict::Unknown {
                    return verdict;
                }
                continue;
            }
            if let ClosePhase::InElement(inner) = &mut self.state {
                self.held.push(next);
                *at += next.len_utf8();
                let verdict = inner.read(next, &self.held, body, form);
                if verdict != CloseVerdict::Unknown {
                    return verdict;
                }
                continue;
            }
            if let ClosePhase::InString { string, .. } = &mut self.state
                && let Some(is_data) = string.push(next)
            {
                return if is_data { CloseVerdict::Data } else { CloseVerdict::Closer };
            }
            self.held.push(next);
            *at += next.len_utf8();
        }
        CloseVerdict::Unknown
    }

    /// Decides by the tag at the end of the held text: the closer is data if the tag ends the value, unless it belongs to
    /// another call.
    fn by_tag(&mut self, from: usize, body: &CallBody, form: &CompiledForm) -> CloseVerdict {
        /// Longer than the longest tag that ends a value.
        const MAX_TAG_BYTES: usize = 128;
        let ClosePhase::InValue { has_opener, .. } = self.state else {
            return CloseVerdict::Unknown;
        };
        let from = self.held.len().saturating_sub(MAX_TAG_BYTES).max(from);
        let tail = slice(&self.held, self.held.ceil_char_boundary(from)..);
        match body.value_tag(tail, has_opener) {
            Some(ValueTag::Next) if has_opener => return CloseVerdict::Closer,
            Some(ValueTag::End | ValueTag::Next) => return CloseVerdict::Data,
            Some(ValueTag::Begin) | None => {}
        }
        let is_opener = tail.char_indices().any(|(at, _)| {
            let front = slice(tail, at..).as_bytes();
            let (found, which) = form.inside.check_below(usize::MAX, front, TextAhead::More);
            matches!(found, MarkerMatch::Yes(_)) && form.role(which) == BodyRole::Opener
        });
        if is_opener {
            self.state = ClosePhase::InValue { from: self.held.len(), has_opener: true };
        }
        CloseVerdict::Unknown
    }
}
