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
