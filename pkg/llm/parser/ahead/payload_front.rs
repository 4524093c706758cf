//! The text after an opener: the beginning of a payload, or something that no payload begins with.

use crate::ahead::{found::MarkerMatch, shape::MAX_FREE_BYTES};
use forgeline_json::subslice;

/// Maximum length of the whitespace, and of the name, that is checked after an opener, in bytes each; if it is
/// exceeded, the opener counts.
pub(crate) const MAX_BYTES: usize = 100;

/// Returns the text after an opener that is checked, and `true` if it is all of it: the same
/// number of bytes decides however much text has arrived.
pub(crate) fn window(text: &[u8], is_last: bool) -> (&[u8], bool) {
    const WINDOW_BYTES: usize = 2 * MAX_BYTES + 1;
    let is_full = text.len() >= WINDOW_BYTES;
    (subslice(text, ..text.len().min(WINDOW_BYTES)), is_last || is_full)
}

pub(crate) fn yes_if(is_so: bool) -> MarkerMatch {
    if is_so { MarkerMatch::Yes(0) } else { MarkerMatch::No }
}

/// Checks that `text` begins with the whole of `front`.
pub(crate) fn begins_with(text: &[u8], front: &[u8], is_last: bool) -> MarkerMatch {
    if text.starts_with(front) {
        MarkerMatch::Yes(0)
    } else if front.starts_with(text) && !is_last {
        MarkerMatch::Maybe
    } else {
        MarkerMatch::No
    }
}

/// Checks that `text` begins with the whole of one of `fronts`.
pub(crate) fn begins_with_any(
    text: &[u8],
    fronts: &[impl AsRef<[u8]>],
    undecided: MarkerMatch,
) -> MarkerMatch {
    let mut is_open = false;
    let begins = fronts.iter().any(|front| {
        let front = front.as_ref();
        let shared = front.len().min(text.len());
        let is_same = subslice(front, ..shared).eq_ignore_ascii_case(subslice(text, ..shared));
        is_open |= is_same && shared < front.len();
        is_same && shared == front.len()
    });
    if begins {
        MarkerMatch::Yes(0)
    } else if is_open {
        undecided
    } else {
        MarkerMatch::No
    }
}

/// Checks that `text` begins with the whole of one of `fronts`, which are padded with zeros.
pub(crate) fn begins_with_front<const BYTES: usize>(
    text: &[u8],
    fronts: &[[u8; BYTES]],
    undecided: MarkerMatch,
) -> MarkerMatch {
    let fronts = fronts.iter().filter_map(|front| front.split(|byte| *byte == 0).next());
    let mut found = fronts
        .filter(|front| !front.is_empty())
        .map(|front| begins_with_any(text, &[front], undecided));
    found.find(|found| *found != MarkerMatch::No).unwrap_or(MarkerMatch::No)
}

/// Checks that whitespace and one of `fronts` follow, which are padded with zeros.
pub(crate) fn check_calls<const BYTES: usize>(
    text: &[u8],
    fronts: &[[u8; BYTES]],
    is_last: bool,
) -> MarkerMatch {
    let undecided = if is_last { MarkerMatch::Yes(0) } else { MarkerMatch::Maybe };
    let rest = text.trim_ascii_start();
    if text.len() - rest.len() > MAX_FREE_BYTES / 2 {
        return MarkerMatch::No;
    }
    begins_with_front(rest, fronts, undecided)
}

/// Returns the text after XML comments; `None` if one does not end.
pub(crate) fn behind_notes(mut text: &[u8]) -> Option<&[u8]> {
    while text.starts_with(b"<!--") {
        let end = memchr::memmem::find(text, b"-->")? + 3;
        text = subslice(text, end..).trim_ascii_start();
    }
    Some(text).filter(|text| ![&b"<!"[..], b"<!-"].contains(text))
}

/// Checks the text from a bracket on for contents that occur in templates, ellipses and code, but not in broken
/// JSON.
pub(crate) fn check_bracket(text: &[u8], is_last: bool) -> MarkerMatch {
    let in_array = text.first() == Some(&b'[');
    let undecided = if is_last { MarkerMatch::Yes(0) } else { MarkerMatch::Maybe };
    match subslice(text, 1..).trim_ascii_start() {
        [] | [0xE2] | [0xE2, 0x80] => undecided,
        [b'.' | b'%' | b'(', ..] | [0xE2, 0x80, 0xA6, ..] => MarkerMatch::No,
        [b'{', ..] if !in_array => MarkerMatch::No,
        rest @ [first, ..] if !in_array && is_word_byte(*first) => {
            // A function call is code.
            match rest.iter().find(|byte| !is_word_byte(**byte)) {
                None => undecided,
                Some(next) => yes_if(*next != b'('),
            }
        }
        _ => MarkerMatch::Yes(0),
    }
}

/// Checks the text from a bracket on for a continuation of JSON, as leniently as it is read: in source code,
/// brackets also follow the names of types.
pub(crate) fn check_json(text: &[u8], is_last: bool) -> MarkerMatch {
    let undecided = if is_last { MarkerMatch::Yes(0) } else { MarkerMatch::Maybe };
    let Some(rest) = behind_comments(subslice(text, 1..)) else {
        return if is_last { MarkerMatch::No } else { MarkerMatch::Maybe };
    };
    let in_array = text.first() == Some(&b'[');
    match rest.first() {
        None => undecided,
        Some(b'"' | b'\'') => MarkerMatch::Yes(0),
        Some(b'{') if in_array => check_json(rest, is_last),
        Some(b'[' | b',') if in_array => MarkerMatch::Yes(0),
        Some(b']') if in_array => match subslice(rest, 1..).trim_ascii_start().first() {
            None => undecided,
            Some(next) => yes_if(*next == b'<'),
        },
        Some(b'}' | b',' | 0x80..) if !in_array => MarkerMatch::Yes(0),
        Some(first) if !in_array && is_word_byte(*first) => {
            let word = rest.iter().take_while(|byte| is_word_byte(**byte)).count();
            let behind = subslice(rest, word..).trim_ascii_start();
            match behind {
                [] | [b':'] => undecided,
                [b':', next, ..] => yes_if(*next != b':'),
                [next, ..] => yes_if(matches!(next, b'"' | b'\'')),
            }
        }
        Some(_) => MarkerMatch::No,
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$' | b'.')
}

/// Returns the text after whitespace and comments; `None` if a comment does not end.
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

pub(crate) fn is_name_char(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':' | '/' | '@' | '$' | '#')
}

/// Returns the length of the name at the beginning of `text`, as far as it matters.
pub(crate) fn name_bytes(text: &[u8]) -> usize {
    let bounded = subslice(text, ..text.len().min(MAX_BYTES + 4));
    let is_first = |first: char| first.is_alphanumeric() || matches!(first, '_' | ':' | '$' | '@');
    let end = bounded.iter().position(|byte| !byte.is_ascii() || !is_name_char(char::from(*byte)));
    let ascii = end.unwrap_or(bounded.len());
    if bounded.get(ascii).is_none_or(u8::is_ascii) {
        let is_name = bounded.first().is_some_and(|first| is_first(char::from(*first)));
        return if is_name { ascii } else { 0 };
    }
    let valid = bounded.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    if valid.starts_with(is_first) {
        valid.find(|letter| !is_name_char(letter)).unwrap_or(valid.len())
    } else {
        0
    }
}
