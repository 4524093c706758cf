//! The bytes inside a Python string that are not themselves.

use crate::llm::parser::{
    find::{equal, find_first},
    json::special,
};

/// Where the first byte stands that ends a string in `quote`s, starts an escape, or must be escaped
/// in JSON; else the length.
#[inline]
pub(super) fn find_special(bytes: &[u8], quote: u8) -> usize {
    find_first(bytes, |word| special(word) | equal(word, quote))
}

/// Whether `text` passes through a Python string as it is, whatever its quotes, and holds no `<`.
#[inline(always)]
pub(in crate::llm::parser) fn is_plain(text: &[u8]) -> bool {
    let mask = |word| special(word) | equal(word, b'\'') | equal(word, b'<');
    find_first(text, mask) == text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_holds_no_quote_escape_control_or_marker() {
        for text in ["", "a", "plain text that is longer than two words", "é日本", "a > b & c"] {
            assert!(is_plain(text.as_bytes()), "{text}");
        }
        for special in ["'", "\"", "\\", "\n", "\t", "\0", "<"] {
            for length in 0..40 {
                let text = format!("{}{special}{}", "x".repeat(length), "y".repeat(length % 7));
                assert!(!is_plain(text.as_bytes()), "{text:?}");
            }
        }
    }
}
