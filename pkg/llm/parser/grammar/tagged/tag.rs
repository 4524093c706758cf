//! Tags that contain a name.

use std::borrow::Cow;

use crate::ahead::{found::MarkerMatch, shape::check_suffix};
use crate::grammar::entity;
use forgeline_json::{slice, subslice};

/// Maximum length of a tag, in bytes; a longer text is not a tag.
pub(super) const MAX_TAG_BYTES: usize = 512;

/// The result of comparing the beginning of a text with a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagMatch {
    /// Something else.
    No,
    /// More text decides.
    Maybe,
    /// The tag, this number of bytes long.
    Yes(usize),
    /// A tag that is longer than the number of bytes checked.
    TooLong,
}

/// Matches the beginning of `text` with exactly `tag`.
pub(super) fn match_exact(tag: &str, text: &str) -> TagMatch {
    if text.starts_with(tag) {
        TagMatch::Yes(tag.len())
    } else if tag.starts_with(text) {
        TagMatch::Maybe
    } else {
        TagMatch::No
    }
}

/// Matches the beginning of `text` with a tag that begins with `open`, possibly with a suffix before its `>`.
pub(super) fn match_suffixed(open: &str, text: &str) -> TagMatch {
    let Some(inside) = text.strip_prefix(open) else {
        return if open.starts_with(text) { TagMatch::Maybe } else { TagMatch::No };
    };
    match check_suffix(inside.as_bytes()) {
        MarkerMatch::Yes(bytes) => TagMatch::Yes(open.len() + bytes),
        MarkerMatch::Maybe => TagMatch::Maybe,
        MarkerMatch::No | MarkerMatch::Mention(_) => TagMatch::No,
    }
}

/// The name attribute if the space before it was lost, or is shown as the tokenizer's letter.
const GLUED_NAMES: [&str; 2] = ["name=", "\u{120}name="];
/// The letter that stands for a space in the vocabularies of many tokenizers.
const BLANK_LETTER: char = '\u{120}';

/// Matches the beginning of `text` with a tag that begins with `open` and ends with `end`, with a name between
/// them, or nothing.
pub(super) fn match_named(open: &str, end: &str, text: &str) -> TagMatch {
    let Some(inside) = text.strip_prefix(open) else {
        return if open.starts_with(text) { TagMatch::Maybe } else { TagMatch::No };
    };
    let has_attributes = match inside.as_bytes().first() {
        None => return TagMatch::Maybe,
        Some(b'=') => false,
        Some(b' ' | b'\t' | b'\n' | b'\r') => true,
        Some(_) if GLUED_NAMES.iter().any(|name| inside.starts_with(name)) => true,
        Some(_) if GLUED_NAMES.iter().any(|name| name.starts_with(inside)) => {
            return TagMatch::Maybe;
        }
        Some(_) => {
            let found = match_exact(end, inside);
            let TagMatch::Yes(bytes) = found else { return found };
            return TagMatch::Yes(open.len() + bytes);
        }
    };
    let (first, last) = (open.as_bytes().first(), end.as_bytes().first());
    let mut quotes = AttributeQuotes::default();
    for (at, byte) in inside.bytes().enumerate() {
        if open.len() + at >= MAX_TAG_BYTES {
            return TagMatch::TooLong;
        }
        let is_quoted = has_attributes && quotes.take(byte);
        if Some(&byte) == last && !is_quoted {
            match match_exact(end, slice(inside, at..)) {
                TagMatch::Yes(bytes) => return TagMatch::Yes(open.len() + at + bytes),
                TagMatch::Maybe => return TagMatch::Maybe,
                TagMatch::No | TagMatch::TooLong => {}
            }
        }
        if (Some(&byte) == first && !is_quoted) || (byte == b'\n' && !has_attributes) {
            return TagMatch::No;
        }
    }
    TagMatch::Maybe
}

/// Returns the length of the named tag at the beginning of `text`; `None` if more text is needed.
pub(crate) fn end_of_tag(open: &str, end: &str, text: &[u8]) -> Result<Option<usize>, ()> {
    let bounded = subslice(text, ..text.len().min(MAX_TAG_BYTES));
    let valid = bounded.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    match match_named(open, end, valid) {
        TagMatch::Yes(bytes) => Ok(Some(bytes)),
        TagMatch::Maybe => Ok(None),
        TagMatch::No | TagMatch::TooLong => Err(()),
    }
}

/// Returns `true` if `text` ends inside a quoted attribute of a tag that begins with `open`.
pub(super) fn ends_in_attribute(open: &str, text: &str) -> bool {
    let Some(inside) = text.strip_prefix(open) else { return false };
    let mut quotes = AttributeQuotes::default();
    let has_attributes = inside.starts_with([' ', '\t', '\n', '\r'])
        || GLUED_NAMES.iter().any(|name| inside.starts_with(name));
    has_attributes && inside.bytes().fold(false, |_, byte| quotes.take(byte)) && quotes.is_open()
}

/// The quotes around the values of attributes.
#[derive(Debug, Default)]
struct AttributeQuotes {
    open: Option<u8>,
    /// `true` if the last byte was `=`, or whitespace after it.
    is_value: bool,
}

impl AttributeQuotes {
    /// Reads one byte; returns `true` if it is quoted, or is the closing quote.
    fn take(&mut self, byte: u8) -> bool {
        if let Some(open) = self.open {
            self.open = Some(open).filter(|_| byte != open);
            return true;
        }
        self.open = Some(byte).filter(|_| self.is_value && matches!(byte, b'"' | b'\''));
        self.is_value = byte == b'=' || (self.is_value && byte.is_ascii_whitespace());
        false
    }

    fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

/// The content of a tag between its beginning and its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(crate) struct TagAttributes<'t> {
    /// The name, trimmed; empty if there is none.
    pub(crate) name: Cow<'t, str>,
    /// `true` if there is a name, even an empty one.
    pub(super) is_named: bool,
    /// The value of the attribute that tells whether the parameter's value is a string.
    pub(super) string: Option<bool>,
    /// The name of the value's type.
    pub(super) kind: Option<&'t str>,
    /// `true` if the tag is self-closing.
    pub(super) is_closed: bool,
}

impl<'t> TagAttributes<'t> {
    pub(crate) fn parse(inside: &'t str) -> Self {
        let mut read = Self::read_exact(inside);
        if let Cow::Borrowed(name) = read.name {
            read.name = name.trim().into();
        }
        read.is_named = !read.name.is_empty();
        read
    }

    /// Reads attributes whose names are taken literally, including whitespace.
    pub(super) fn read_exact(inside: &'t str) -> Self {
        let closed = inside.trim_end().strip_suffix('/');
        let mut read = Self { is_closed: closed.is_some(), ..Self::default() };
        let inside = closed.unwrap_or(inside);
        if let Some(name) = inside.strip_prefix('=') {
            let name = unquoted(name.trim()).trim();
            return Self { name: name.into(), is_named: !name.is_empty(), ..read };
        }
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
            match key.trim().trim_start_matches(BLANK_LETTER) {
                "name" | "tool" | "key" if read.name.trim().is_empty() => {
                    (read.name, read.is_named) = (value.into(), true);
                }
                "string" => read.string = Some(value.trim().eq_ignore_ascii_case("true")),
                "type" => read.kind = Some(value.trim()),
                _ => {}
            }
        }
        read
    }

    /// Decodes the entities in the name.
    pub(super) fn unescaped(mut self) -> Self {
        if self.name.contains('&') {
            self.name = entity::decode(&self.name).into();
        }
        self
    }
}

/// Returns `text` without surrounding quotes.
fn unquoted(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}
