//! The bytes inside a string that are not themselves.

use crate::{
    llm::parser::find::{below, equal, find_first},
    types::slice,
};

/// Where the first byte stands that ends a JSON string, starts an escape or must be escaped:
/// `quote`, `"`, a backslash, or a control character; else the length.
#[inline]
pub(super) fn find_special(bytes: &[u8], quote: u8) -> usize {
    find_first(bytes, |word| special(word) | equal(word, quote))
}

/// The same for strings in `"`, and `<`, where a marker may begin.
#[inline(always)]
pub(super) fn find_special_or_marker(bytes: &[u8]) -> usize {
    find_first(bytes, |word| special(word) | equal(word, b'<'))
}

/// The mask of what is not itself inside a JSON string in `"`.
#[inline(always)]
pub(in crate::llm::parser) fn special(word: u64) -> u64 {
    // Flipping one bit puts `"` right behind the control characters, and keeps these together.
    equal(word, b'\\') | below(word ^ (0x0101_0101_0101_0101 * 0x02), 0x21)
}

/// Whether `text` passes through a string in `"` as it is, and holds no `<`.
#[inline(always)]
pub(in crate::llm::parser) fn is_plain(text: &[u8]) -> bool {
    let mut at = 0;
    loop {
        at += find_special_or_marker(text.get(at..).unwrap_or_default());
        match (text.get(at), text.get(at + 1)) {
            (None, _) => return true,
            (Some(b'\\'), Some(next)) if is_simple_escape(*next) => at += 2,
            _ => return false,
        }
    }
}

/// Whether this byte behind a backslash is an escape of one letter.
#[inline]
pub(super) fn is_simple_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
}

/// The escape of a control character, `"` or backslash in a JSON string.
pub(in crate::llm::parser) fn escape_of(byte: u8) -> &'static str {
    const CONTROL: [&str; 32] = [
        "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007",
        "\\b", "\\t", "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011",
        "\\u0012", "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019",
        "\\u001a", "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
    ];
    match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        _ => CONTROL.get(usize::from(byte)).copied().unwrap_or_default(),
    }
}

/// Gives `text` as the inside of a JSON string, in pieces.
pub(in crate::llm::parser) fn escape_into(mut text: &str, out: &mut impl FnMut(&str)) {
    while !text.is_empty() {
        let (plain, rest) = text.split_at(find_special(text.as_bytes(), b'"'));
        if !plain.is_empty() {
            out(plain);
        }
        let Some(&byte) = rest.as_bytes().first() else { return };
        out(escape_of(byte));
        text = slice(rest, 1..);
    }
}
