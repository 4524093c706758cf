//! The text that has to follow an opener: where it cannot begin the payload, the opener is only
//! mentioned.

use super::found::Found;
use crate::types::subslice;

/// Most whitespace, and longest name, that is looked at behind an opener, in bytes each; with more of
/// it the opener counts.
const MAX_BYTES: usize = 100;

/// The payloads that may follow an opener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lead {
    /// A curly or square bracket, perhaps in a fence.
    pub(super) json: bool,
    /// The first byte of a tag.
    pub(super) tag: Option<u8>,
    pub(super) bare: Option<BareName>,
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
    /// Checks the text behind an opener. Where it `is_last`, nothing more will follow.
    pub(super) fn check(self, text: &[u8], is_last: bool) -> Found {
        let is_last = is_last || text.len() > 2 * MAX_BYTES;
        let undecided = if is_last { Found::Yes(0) } else { Found::Maybe };
        let blank = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if blank > MAX_BYTES {
            return Found::Yes(0);
        }
        let rest = subslice(text, blank..);
        let Some(&first) = rest.first() else { return undecided };
        if self.json && matches!(first, b'{' | b'[') {
            return Found::Yes(0);
        }
        if self.json && first == b'`' {
            return begins_with(rest, b"```", is_last);
        }
        if self.tag == Some(first) {
            return match rest.get(1) {
                // The end of a tag begins nothing.
                Some(b'/') if first == b'<' => Found::No,
                Some(_) => Found::Yes(0),
                None => undecided,
            };
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

/// Checks the text behind the opening of a function's tag: `=NAME`, or attributes.
pub(super) fn check_function(opener: &str, text: &[u8], is_last: bool) -> Found {
    let undecided = if is_last { Found::Yes(0) } else { Found::Maybe };
    let mut rest = text;
    if !opener.ends_with('=') {
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let key = subslice(rest, blank..).iter().take_while(|byte| byte.is_ascii_alphabetic());
        let key = key.count();
        let behind = subslice(rest, blank + key..);
        match behind.first() {
            _ if blank + key > MAX_BYTES => return Found::Yes(0),
            None => return undecided,
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
    match behind.get(blank) {
        _ if name > MAX_BYTES => Found::Yes(0),
        None => undecided,
        Some(_) if name == 0 => Found::No,
        Some(next) if blank > 0 => {
            let is_bare_end = quote.is_none() && !next.is_ascii_alphanumeric();
            yes_if(is_bare_end || quote == Some(*next))
        }
        Some(_) => Found::Yes(0),
    }
}
