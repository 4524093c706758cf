//! Checked slices of text.

use std::slice::SliceIndex;

/// Returns `text[range]`.
///
/// A range that is out of bounds or splits a character is a defect of the caller: it panics under
/// `debug_assertions`, so that tests and fuzzing see it, and yields `""` in release builds.
#[inline]
#[track_caller]
pub(crate) fn slice(text: &str, range: impl SliceIndex<str, Output = str>) -> &str {
    let part = text.get(range);
    debug_assert!(part.is_some(), "slice is out of bounds or splits a character");
    part.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_range_is_the_text_at_it() {
        assert_eq!((slice("aé", 1..), slice("aé", ..1), slice("aé", 3..)), ("é", "a", ""));
    }

    #[test]
    #[should_panic(expected = "splits a character")]
    #[cfg(debug_assertions)]
    fn a_range_that_splits_a_character_is_seen() {
        slice("é", 1..);
    }
}
