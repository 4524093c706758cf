//! The start of a list of calls in text.

use crate::ahead::found::MarkerMatch;
use forgeline_json::subslice;

/// Maximum number of bytes that are checked: the longest name, and some whitespace before it.
const MAX_BYTES: usize = 1024 + 64;

/// Checks a text that starts with `[` for a list of Python calls: a name and `(` must follow.
///
/// Returns `Maybe` while this is undecided; the length in `Yes` includes the parenthesis.
pub(crate) fn looks_like_calls(text: &[u8]) -> MarkerMatch {
    let Some((b'[', rest)) = text.split_first() else {
        return if text.is_empty() { MarkerMatch::Maybe } else { MarkerMatch::No };
    };
    let lead = text.len() - rest.trim_ascii_start().len();
    looks_like_call_line(rest.trim_ascii_start()).and_then(|behind| MarkerMatch::Yes(lead + behind))
}

/// Checks for a call at the beginning of `text`; returns the number of bytes up to its arguments.
pub(crate) fn looks_like_call_line(text: &[u8]) -> MarkerMatch {
    let length = text.iter().take_while(|byte| is_name_byte(**byte)).count();
    match (text.first(), text.get(length)) {
        (Some(first), _) if !is_name_start(*first) => MarkerMatch::No,
        // A URL.
        _ if memchr::memmem::find(subslice(text, ..length), b"://").is_some() => MarkerMatch::No,
        (Some(_), Some(b'(')) => MarkerMatch::Yes(length + 1),
        (_, None) if text.len() <= MAX_BYTES => MarkerMatch::Maybe,
        _ => MarkerMatch::No,
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
            ("a call",                 "[look(",                 MarkerMatch::Yes(6)),
            ("with arguments",         "[look(at=1)]",           MarkerMatch::Yes(6)),
            ("a dotted name",          "[a.b.look(",             MarkerMatch::Yes(10)),
            ("a hyphen",               "[look-up(",              MarkerMatch::Yes(9)),
            ("blanks and a line end",  "[ \n  look(",            MarkerMatch::Yes(10)),
            ("a name space",           "[ns/look(",              MarkerMatch::Yes(9)),
            ("a colon",                "[get:look(",             MarkerMatch::Yes(10)),
            ("an address",             "[https://a.b/c_(d)]",    MarkerMatch::No),
            ("other letters",          "[été(",                  MarkerMatch::Yes(7)),
            ("nothing",                "",                       MarkerMatch::Maybe),
            ("only the bracket",       "[",                      MarkerMatch::Maybe),
            ("blanks so far",          "[  ",                    MarkerMatch::Maybe),
            ("a name so far",          "[look",                  MarkerMatch::Maybe),
            ("numbers",                "[1, 2]",                 MarkerMatch::No),
            ("a string",               "[\"look\"]",             MarkerMatch::No),
            ("a link",                 "[link](url)",            MarkerMatch::No),
            ("a link of two words",    "[this link](url)",       MarkerMatch::No),
            ("a remark",               "[Note (see there)]",     MarkerMatch::No),
            ("a check box",            "[ ] done",               MarkerMatch::No),
            ("a ticked box",           "[x] done",               MarkerMatch::No),
            ("an empty list",          "[]",                     MarkerMatch::No),
            ("a list of lists",        "[[look(",                MarkerMatch::No),
            ("no bracket",             "look(",                  MarkerMatch::No),
        ];
        for (name, text, want) in cases {
            assert_eq!(looks_like_calls(text.as_bytes()), want, "{name}");
            for cut in 0..text.len() {
                let front = looks_like_calls(&text.as_bytes()[..cut]);
                assert!(
                    front == want || front == MarkerMatch::Maybe,
                    "{name} cut at {cut}: {front:?}"
                );
            }
        }
        let long = format!("[{}", "x".repeat(2000));
        assert_eq!(looks_like_calls(long.as_bytes()), MarkerMatch::No);
    }
}
