//! The start of a list of calls in text.

use crate::ahead::found::Found;
use forgeline_json::subslice;

/// Maximum number of bytes that are checked: the longest name, and some whitespace before it.
const MAX_BYTES: usize = 1024 + 64;

/// Checks a text that starts with `[` for a list of Python calls: a name and `(` must follow.
///
/// Returns `Maybe` while this is undecided; the length in `Yes` includes the parenthesis.
pub(crate) fn looks_like_calls(text: &[u8]) -> Found {
    let Some((b'[', rest)) = text.split_first() else {
        return if text.is_empty() { Found::Maybe } else { Found::No };
    };
    let name = rest.trim_ascii_start();
    let length = name.iter().take_while(|byte| is_name_byte(**byte)).count();
    match (name.first(), name.get(length)) {
        (Some(first), _) if !is_name_start(*first) => Found::No,
        // A URL.
        _ if memchr::memmem::find(subslice(name, ..length), b"://").is_some() => Found::No,
        (Some(_), Some(b'(')) => Found::Yes(text.len() - name.len() + length + 1),
        (_, None) if text.len() <= MAX_BYTES => Found::Maybe,
        _ => Found::No,
    }
}

/// Returns `true` if the name of a tool or an argument may start with this byte.
pub(super) fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | 0x80..)
}

/// Returns `true` for a byte in the name of a tool; in addition to Python's dots, models write hyphens, slashes
/// and colons.
pub(super) fn is_name_byte(byte: u8) -> bool {
    is_word_byte(byte) || matches!(byte, b'.' | b'-' | b'/' | b':')
}

/// Returns `true` for a byte in a Python word.
pub(super) fn is_word_byte(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bracket_starts_calls_when_a_name_and_a_parenthesis_follow() {
        #[rustfmt::skip]
        let cases = [
            ("a call",                 "[look(",                 Found::Yes(6)),
            ("with arguments",         "[look(at=1)]",           Found::Yes(6)),
            ("a dotted name",          "[a.b.look(",             Found::Yes(10)),
            ("a hyphen",               "[look-up(",              Found::Yes(9)),
            ("blanks and a line end",  "[ \n  look(",            Found::Yes(10)),
            ("a name space",           "[ns/look(",              Found::Yes(9)),
            ("a colon",                "[get:look(",             Found::Yes(10)),
            ("an address",             "[https://a.b/c_(d)]",    Found::No),
            ("other letters",          "[été(",                  Found::Yes(7)),
            ("nothing",                "",                       Found::Maybe),
            ("only the bracket",       "[",                      Found::Maybe),
            ("blanks so far",          "[  ",                    Found::Maybe),
            ("a name so far",          "[look",                  Found::Maybe),
            ("numbers",                "[1, 2]",                 Found::No),
            ("a string",               "[\"look\"]",             Found::No),
            ("a link",                 "[link](url)",            Found::No),
            ("a link of two words",    "[this link](url)",       Found::No),
            ("a remark",               "[Note (see there)]",     Found::No),
            ("a check box",            "[ ] done",               Found::No),
            ("a ticked box",           "[x] done",               Found::No),
            ("an empty list",          "[]",                     Found::No),
            ("a list of lists",        "[[look(",                Found::No),
            ("no bracket",             "look(",                  Found::No),
        ];
        for (name, text, want) in cases {
            assert_eq!(looks_like_calls(text.as_bytes()), want, "{name}");
            for cut in 0..text.len() {
                let front = looks_like_calls(&text.as_bytes()[..cut]);
                assert!(front == want || front == Found::Maybe, "{name} cut at {cut}: {front:?}");
            }
        }
        let long = format!("[{}", "x".repeat(2000));
        assert_eq!(looks_like_calls(long.as_bytes()), Found::No);
    }
}
