//! The text that has to follow an opener: where it cannot begin the payload, the opener is only
//! mentioned.

use super::found::Found;
use crate::types::subslice;

/// Most whitespace, and longest name, that is looked at behind an opener, in bytes each; with more of
/// it the opener counts.
const MAX_BYTES: usize = 100;

/// Returns the text behind an opener that is looked at, which `is_last` where it is all of it: however
/// much has come, as many bytes decide.
fn window(text: &[u8], is_last: bool) -> (&[u8], bool) {
    const WINDOW_BYTES: usize = 2 * MAX_BYTES + 1;
    let is_full = text.len() >= WINDOW_BYTES;
    (subslice(text, ..text.len().min(WINDOW_BYTES)), is_last || is_full)
}

/// The payloads that may follow an opener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct Lead {
    /// A curly or square bracket, perhaps in a fence.
    pub(super) json: bool,
    pub(super) tag: Option<TagLead>,
    pub(super) bare: Option<BareName>,
    /// `true` behind what a person could type, in sources too: what stands in a bracket is looked at.
    pub(super) is_typed: bool,
}

/// The front of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagLead {
    /// This text.
    Front(&'static str),
    /// One of these texts.
    OneOf(&'static [&'static str]),
}

/// The text behind a name that stands bare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BareName {
    /// A line end, a tag or a bracket.
    Pairs,
    /// A bracket; the name itself may be the next one.
    Syntax,
    /// A bracket; one may stand before the name too.
    Python,
    /// One of these texts, or a bracket.
    Separators([&'static str; 2]),
    /// Anything.
    Open,
}

impl Lead {
    /// Checks the text behind `opener`, whose case `is_loose` where it is not spelled as models do.
    /// Nothing follows a text that `is_last`.
    pub(super) fn check(self, opener: &str, text: &[u8], is_loose: bool, is_last: bool) -> Found {
        let (text, is_last) = window(text, is_last);
        let undecided = if is_last { Found::Yes(0) } else { Found::Maybe };
        let blank = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if blank > MAX_BYTES {
            return Found::Yes(0);
        }
        let rest = subslice(text, blank..);
        let Some(&first) = rest.first() else { return undecided };
        if self.json && matches!(first, b'{' | b'[') {
            let is_strict = is_loose || matches!(text.first(), Some(b' ' | b'\t'));
            return match self.is_typed {
                true if is_strict => check_json(rest, is_last),
                true => check_bracket(rest, is_last),
                false => Found::Yes(0),
            };
        }
        if self.json && first == b'`' {
            return begins_with(rest, b"```", is_last);
        }
        let found = match &self.tag {
            // Some models write the opener twice.
            Some(TagLead::Front(front)) => begins_with_any(rest, &[front, opener], undecided),
            Some(TagLead::OneOf(fronts)) => match behind_notes(rest) {
                Some(rest) => begins_with_any(rest, fronts, undecided),
                None if is_last => Found::No,
                None => Found::Maybe,
            },
            None => Found::No,
        };
        if found != Found::No {
            return found;
        }
        match self.bare {
            None => Found::No,
            Some(BareName::Python) if first == b'[' => Found::Yes(0),
            Some(bare) => bare.check(subslice(text, ..blank), rest, is_last),
        }
    }
}

impl BareName {
    /// Returns the text behind a name that one of `separators` ends.
    pub(super) fn before(separators: [&'static str; 2]) -> Self {
        let can_be_name = |first: char| is_name_char(first) || first.is_whitespace();
        if separators.iter().any(|separator| separator.starts_with(can_be_name)) {
            Self::Open
        } else {
            Self::Separators(separators)
        }
    }

    /// Checks for a name and what has to follow it, behind `before`.
    fn check(self, before: &[u8], text: &[u8], is_last: bool) -> Found {
        let name = name_bytes(text);
        if name == 0 {
            return Found::No;
        }
        let is_after_line_end = matches!(before.first(), Some(b'\n' | b'\r'));
        let has_blank = before.iter().any(|byte| matches!(byte, b' ' | b'\t'));
        let behind = subslice(text, name..);
        let rest = behind.trim_ascii_start();
        match self {
            _ if text.len() - rest.len() > MAX_BYTES => Found::Yes(0),
            Self::Syntax if text.starts_with(b"call:") => yes_if(!has_blank),
            Self::Separators(separators) => {
                let separators = separators.iter().filter(|separator| !separator.is_empty());
                let mut found =
                    separators.map(|separator| begins_with(rest, separator.as_bytes(), false));
                match found.find(|found| *found != Found::No) {
                    Some(Found::Maybe) if is_last => yes_if(!has_blank),
                    Some(found) => found,
                    None => yes_if(!has_blank && matches!(rest.first(), Some(b'{' | b'['))),
                }
            }
            _ if has_blank && !(is_after_line_end && self == Self::Pairs) => Found::No,
            Self::Open => Found::Yes(0),
            // The name is told where its line ends.
            Self::Pairs if !has_blank && matches!(behind.first(), Some(b'\n' | b'\r')) => {
                Found::Yes(0)
            }
            Self::Pairs | Self::Syntax | Self::Python => match (self, rest.first()) {
                (_, None) if !is_last => Found::Maybe,
                (_, None) => yes_if(!has_blank),
                (Self::Pairs, Some(next)) => yes_if(matches!(next, b'<' | b'{')),
                (_, Some(next)) => yes_if(matches!(next, b'(' | b'{' | b'=')),
            },
        }
    }
}

fn yes_if(is_so: bool) -> Found {
    if is_so { Found::Yes(0) } else { Found::No }
}

/// Checks that `text` begins with all of `front`.
fn begins_with(text: &[u8], front: &[u8], is_last: bool) -> Found {
    if text.starts_with(front) {
        Found::Yes(0)
    } else if front.starts_with(text) && !is_last {
        Found::Maybe
    } else {
        Found::No
    }
}

/// Checks that `text` begins with all of one of `fronts`.
pub(super) fn begins_with_any(text: &[u8], fronts: &[impl AsRef<[u8]>], undecided: Found) -> Found {
    let mut is_open = false;
    let begins = fronts.iter().any(|front| {
        let front = front.as_ref();
        let shared = front.len().min(text.len());
        let is_same = subslice(front, ..shared).eq_ignore_ascii_case(subslice(text, ..shared));
        is_open |= is_same && shared < front.len();
        is_same && shared == front.len()
    });
    if begins {
        Found::Yes(0)
    } else if is_open {
        undecided
    } else {
        Found::No
    }
}

/// Returns the text behind comments of XML; `None` where one does not end.
fn behind_notes(mut text: &[u8]) -> Option<&[u8]> {
    while text.starts_with(b"<!--") {
        let end = memchr::memmem::find(text, b"-->")? + 3;
        text = subslice(text, end..).trim_ascii_start();
    }
    Some(text).filter(|text| ![&b"<!"[..], b"<!-"].contains(text))
}

/// Checks the text from a bracket on for what templates, ellipses and code have there, and JSON that is
/// broken has not.
fn check_bracket(text: &[u8], is_last: bool) -> Found {
    let in_array = text.first() == Some(&b'[');
    let undecided = if is_last { Found::Yes(0) } else { Found::Maybe };
    match subslice(text, 1..).trim_ascii_start() {
        [] | [0xE2] | [0xE2, 0x80] => undecided,
        [b'.' | b'%' | b'(', ..] | [0xE2, 0x80, 0xA6, ..] => Found::No,
        [b'{', ..] if !in_array => Found::No,
        rest @ [first, ..] if !in_array && is_word_byte(*first) => {
            // A function's call is code.
            match rest.iter().find(|byte| !is_word_byte(**byte)) {
                None => undecided,
                Some(next) => yes_if(*next != b'('),
            }
        }
        _ => Found::Yes(0),
    }
}

/// Checks the text from a bracket on for what JSON goes on with, as lenient as it is read: in sources,
/// brackets stand behind the names of types too.
fn check_json(text: &[u8], is_last: bool) -> Found {
    let undecided = if is_last { Found::Yes(0) } else { Found::Maybe };
    let Some(rest) = behind_comments(subslice(text, 1..)) else {
        return if is_last { Found::No } else { Found::Maybe };
    };
    let in_array = text.first() == Some(&b'[');
    match rest.first() {
        None => undecided,
        Some(b'"' | b'\'') => Found::Yes(0),
        Some(b'{') if in_array => check_json(rest, is_last),
        Some(b'[' | b',') if in_array => Found::Yes(0),
        Some(b']') if in_array => match subslice(rest, 1..).trim_ascii_start().first() {
            None => undecided,
            Some(next) => yes_if(*next == b'<'),
        },
        Some(b'}' | b',' | 0x80..) if !in_array => Found::Yes(0),
        Some(first) if !in_array && is_word_byte(*first) => {
            let word = rest.iter().take_while(|byte| is_word_byte(**byte)).count();
            let behind = subslice(rest, word..).trim_ascii_start();
            match behind {
                [] | [b':'] => undecided,
                [b':', next, ..] => yes_if(*next != b':'),
                [next, ..] => yes_if(matches!(next, b'"' | b'\'')),
            }
        }
        Some(_) => Found::No,
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$' | b'.')
}

/// Returns the text behind whitespace and comments; `None` where a comment does not end.
fn behind_comments(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text.trim_ascii_start();
    loop {
        let end = match rest {
            [b'/', b'/', ..] | [b'#', ..] => memchr::memchr(b'\n', rest)? + 1,
            [b'/', b'*', ..] => memchr::memmem::find(rest, b"*/")? + 2,
            [b'/'] => return None,
            _ => return Some(rest),
        };
        rest = subslice(rest, end..).trim_ascii_start();
    }
}

fn is_name_char(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':' | '/' | '@' | '$' | '#')
}

/// Returns the length of the name that `text` begins with, as far as it matters.
fn name_bytes(text: &[u8]) -> usize {
    let bounded = subslice(text, ..text.len().min(MAX_BYTES + 4));
    let valid = bounded.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let is_name = valid.starts_with(|first: char| {
        first.is_alphanumeric() || matches!(first, '_' | ':' | '$' | '@')
    });
    if !is_name {
        return 0;
    }
    valid.find(|letter| !is_name_char(letter)).unwrap_or(valid.len())
}

/// Checks the text behind the opening of a function's tag: `=NAME`, or attributes. In a tag that
/// `is_typed`, the name is the only one: elements of other languages have more.
pub(super) fn check_function(opener: &str, text: &[u8], is_typed: bool, is_last: bool) -> Found {
    let (text, is_last) = window(text, is_last);
    let undecided = if is_last { Found::Yes(0) } else { Found::Maybe };
    let mut rest = text;
    if !opener.ends_with('=') {
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let key = subslice(rest, blank..).iter().take_while(|byte| byte.is_ascii_alphabetic());
        let key = key.count();
        let behind = subslice(rest, blank + key..);
        let is_name =
            matches!(subslice(rest, blank..blank + key), b"" | b"name" | b"tool" | b"key");
        match behind.first() {
            _ if blank + key > MAX_BYTES => return Found::Yes(0),
            None => return undecided,
            Some(_) if is_typed && !is_name => return Found::No,
            Some(b'=') if (blank > 0) == (key > 0) => rest = subslice(behind, 1..),
            Some(_) => return Found::No,
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
        _ if name > MAX_BYTES => Found::Yes(0),
        None if blank <= MAX_BYTES => undecided,
        None | Some(_) if name == 0 => Found::No,
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
        Some(_) => Found::Yes(0),
    }
}
