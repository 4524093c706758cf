//! The tag of a function that opens a call: with a name, and followed by certain texts.

use crate::{
    ahead::{
        found::MarkerMatch,
        payload_front::{
            MAX_BYTES, begins_with_front, check_bracket, check_json, name_bytes, window, yes_if,
        },
    },
    grammar::{Tags, end_of_tag},
};
use forgeline_json::subslice;

/// The maximum number of different texts that may follow a tag, and the number of relevant bytes of each.
const FRONTS: usize = 8;
const FRONT_BYTES: usize = 4;

/// The tag of a function, and the texts that may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FunctionTag {
    open: &'static str,
    end: &'static str,
    /// The beginnings of parameters, closers and the next call; zeros are ignored.
    fronts: [[u8; FRONT_BYTES]; FRONTS],
}

impl FunctionTag {
    const fn new(open: &'static str, end: &'static str) -> Self {
        Self { open, end, fronts: [[0; FRONT_BYTES]; FRONTS] }
    }

    /// Creates the tag of a function among `tags`.
    pub(crate) fn from_tags(tags: &Tags) -> Self {
        Self::new(tags.function, tags.tag_end).before(tags.behind_function())
    }

    /// Creates the tag of `MiniMax`'s elements, each of which follows a marker of its own.
    pub(crate) fn of_elements() -> Self {
        Self::new("]<]minimax[>[<invoke", ">").before(["]", "<"].into_iter())
    }

    /// Adds other texts that may follow.
    pub(crate) fn before<'a>(mut self, texts: impl Iterator<Item = &'a str>) -> Self {
        for text in texts {
            let mut front = [0; FRONT_BYTES];
            for (place, byte) in front.iter_mut().zip(text.bytes()) {
                *place = byte;
            }
            if !self.fronts.contains(&front)
                && let Some(place) = self.fronts.iter_mut().find(|place| place.first() == Some(&0))
            {
                *place = front;
            }
        }
        self
    }

    /// Returns the text that the tag begins with.
    pub(crate) fn open(&self) -> &'static str {
        self.open
    }

    /// Checks `text` after the `opener` that it begins with, which people may type or not: a name, the rest
    /// of the tag, then a text that may follow; if it `is_in_block`, nothing but calls can be intended.
    pub(crate) fn check_behind(
        self,
        (opener, is_typed): (&str, bool),
        text: &[u8],
        is_in_block: bool,
        is_last: bool,
    ) -> MarkerMatch {
        let (text, is_last) = window(text, is_last);
        let found = check_name(opener, subslice(text, opener.len()..), is_typed, is_last);
        if is_in_block {
            return found;
        }
        found.and_then(|_| self.check(text, is_typed, is_last))
    }

    /// Checks that parameters, one object or a closer may follow the tag that `text` begins with. A self-closing tag
    /// needs nothing after it.
    pub(crate) fn check(self, text: &[u8], is_typed: bool, is_last: bool) -> MarkerMatch {
        let (text, is_last) = window(text, is_last);
        let undecided = if is_last { MarkerMatch::Yes(0) } else { MarkerMatch::Maybe };
        // No tag contains control characters.
        let is_control = |byte: &u8| *byte < b' ' && !byte.is_ascii_whitespace();
        let control = text.iter().position(is_control);
        if control.is_some_and(|at| self.end_in(subslice(text, ..=at)) == Ok(None)) {
            return MarkerMatch::No;
        }
        let end = match self.end_in(text) {
            Ok(Some(end)) => end,
            Ok(None) => return undecided,
            Err(()) => return MarkerMatch::Yes(0),
        };
        let inside = subslice(text, ..end - self.end.len());
        let behind = subslice(text, end..);
        let rest = behind.trim_ascii_start();
        match rest.first() {
            _ if inside.trim_ascii_end().ends_with(b"/") => MarkerMatch::Yes(0),
            _ if behind.len() - rest.len() > MAX_BYTES => MarkerMatch::Yes(0),
            None => undecided,
            Some(b'{') if is_typed && matches!(behind.first(), Some(b' ' | b'\t')) => {
                check_json(rest, is_last)
            }
            Some(b'{') if is_typed => check_bracket(rest, is_last),
            Some(first) if is_typed => self.check_next(rest, *first, undecided),
            Some(first) => yes_if(
                *first == b'{' || self.fronts.iter().any(|front| front.first() == Some(first)),
            ),
        }
    }

    fn end_in(&self, text: &[u8]) -> Result<Option<usize>, ()> {
        end_of_tag(self.open, self.end, text)
    }

    /// Checks the text after a tag that people type, since other languages have elements too.
    fn check_next(&self, text: &[u8], first: u8, undecided: MarkerMatch) -> MarkerMatch {
        if first == b'<' && text.get(1).is_none_or(|second| matches!(second, b'|' | 0xEF)) {
            return if text.len() > 1 { MarkerMatch::Yes(0) } else { undecided };
        }
        begins_with_front(text, &self.fronts, undecided)
    }
}

/// Checks the text after the beginning of a function's tag: `=NAME`, or attributes. In a tag that
/// `is_typed`, the name must be the only attribute: elements of other languages have more.
fn check_name(opener: &str, text: &[u8], is_typed: bool, is_last: bool) -> MarkerMatch {
    let undecided = if is_last { MarkerMatch::Yes(0) } else { MarkerMatch::Maybe };
    let mut rest = text;
    if !opener.ends_with('=') {
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let key = subslice(rest, blank..).iter().take_while(|byte| byte.is_ascii_alphabetic());
        let key = key.count();
        let behind = subslice(rest, blank + key..);
        let is_name =
            matches!(subslice(rest, blank..blank + key), b"" | b"name" | b"tool" | b"key");
        match behind.first() {
            _ if blank + key > MAX_BYTES => return MarkerMatch::Yes(0),
            None => return undecided,
            Some(_) if is_typed && !is_name => return MarkerMatch::No,
            Some(b'=') if (blank > 0) == (key > 0) => rest = subslice(behind, 1..),
            Some(_) => return MarkerMatch::No,
        }
    }
    let quote = rest.first().copied().filter(|first| matches!(first, b'"' | b'\''));
    let mut value = subslice(rest, usize::from(quote.is_some())..);
    if quote.is_some() {
        value = value.trim_ascii_start();
    }
    let name = name_bytes(value);
    let behind = subslice(value, name..);
    let blank = behind.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let is_only = is_typed && !opener.ends_with('=') || opener.ends_with("name=");
    match behind.get(blank) {
        _ if name > MAX_BYTES => MarkerMatch::Yes(0),
        None if blank <= MAX_BYTES => undecided,
        None | Some(_) if name == 0 => MarkerMatch::No,
        None => undecided,
        Some(next) if is_only && quote == Some(*next) => {
            match subslice(behind, blank + 1..).trim_ascii_start().first() {
                None => undecided,
                Some(next) => yes_if(matches!(next, b'>' | b'/')),
            }
        }
        Some(next) if blank > 0 => {
            let is_bare_end = quote.is_none() && !next.is_ascii_alphanumeric();
            yes_if(is_bare_end || quote == Some(*next))
        }
        Some(_) => MarkerMatch::Yes(0),
    }
}
