//! A tag that carries a name.

use crate::{
    llm::parser::marker::{Found, check_suffix},
    types::slice,
};

/// Longest tag, in bytes; a longer one is none.
pub(super) const MAX_TAG_BYTES: usize = 512;

/// The front of a text, compared with a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    /// Something else.
    No,
    /// More text decides.
    Maybe,
    /// The tag, this number of bytes long.
    Yes(usize),
    /// A tag that goes on for more bytes than are looked at.
    TooLong,
}

/// Matches the front of `text` with exactly `tag`.
pub(super) fn match_exact(tag: &str, text: &str) -> Match {
    if text.starts_with(tag) {
        Match::Yes(tag.len())
    } else if tag.starts_with(text) {
        Match::Maybe
    } else {
        Match::No
    }
}

/// Matches the front of `text` with a tag that `open` opens, perhaps with a suffix before its `>`.
pub(super) fn match_suffixed(open: &str, text: &str) -> Match {
    let Some(inside) = text.strip_prefix(open) else {
        return if open.starts_with(text) { Match::Maybe } else { Match::No };
    };
    match check_suffix(inside.as_bytes()) {
        Found::Yes(bytes) => Match::Yes(open.len() + bytes),
        Found::Maybe => Match::Maybe,
        Found::No | Found::Mention(_) => Match::No,
    }
}

/// Matches the front of `text` with a tag that `open` opens and `end` ends, with a name between
/// them, or nothing.
pub(super) fn match_named(open: &str, end: &str, text: &str) -> Match {
    let Some(inside) = text.strip_prefix(open) else {
        return if open.starts_with(text) { Match::Maybe } else { Match::No };
    };
    let has_attributes = match inside.as_bytes().first() {
        None => return Match::Maybe,
        Some(b'=') => false,
        Some(b' ' | b'\t' | b'\n' | b'\r') => true,
        Some(_) => {
            return match match_exact(end, inside) {
                Match::Yes(bytes) => Match::Yes(open.len() + bytes),
                found @ (Match::No | Match::Maybe | Match::TooLong) => found,
            };
        }
    };
    let (first, last) = (open.as_bytes().first(), end.as_bytes().first());
    let mut is_quoted = false;
    for (at, byte) in inside.bytes().enumerate() {
        if open.len() + at >= MAX_TAG_BYTES {
            return Match::TooLong;
        }
        if Some(&byte) == last && !is_quoted {
            match match_exact(end, slice(inside, at..)) {
                Match::Yes(bytes) => return Match::Yes(open.len() + at + bytes),
                Match::Maybe => return Match::Maybe,
                Match::No | Match::TooLong => {}
            }
        }
        if Some(&byte) == first || (byte == b'\n' && !has_attributes) {
            return Match::No;
        }
        is_quoted ^= byte == b'"' && has_attributes;
    }
    Match::Maybe
}

/// The content of a tag between its opening and its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Attributes<'t> {
    /// The name, trimmed; empty without one.
    pub(crate) name: &'t str,
    /// Set when the value is, or is not, a string.
    pub(super) string: Option<bool>,
    /// The name of the value's type.
    pub(super) kind: Option<&'t str>,
}

impl<'t> Attributes<'t> {
    pub(crate) fn read(inside: &'t str) -> Self {
        if let Some(name) = inside.strip_prefix('=') {
            return Self { name: unquoted(name.trim()).trim(), ..Self::default() };
        }
        let mut read = Self::default();
        let mut rest = inside.trim_start();
        while let Some((key, behind)) = rest.split_once('=') {
            let behind = behind.trim_start();
            let quote = behind.chars().next().filter(|first| matches!(first, '"' | '\''));
            let value;
            (value, rest) = match quote {
                Some(quote) => {
                    let behind = behind.strip_prefix(quote).unwrap_or_default();
                    behind.split_once(quote).unwrap_or((behind, ""))
                }
                None => behind.split_once(char::is_whitespace).unwrap_or((behind, "")),
            };
            rest = rest.trim_start();
            match key.trim() {
                "name" | "tool" | "key" if read.name.is_empty() => read.name = value.trim(),
                "string" => read.string = Some(value.trim().eq_ignore_ascii_case("true")),
                "type" => read.kind = Some(value.trim()),
                _ => {}
            }
        }
        read
    }
}

/// Returns `text` without the quotes around it.
fn unquoted(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}
