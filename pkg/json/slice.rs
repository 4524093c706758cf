//! Checked slices.

use std::slice::SliceIndex;

/// Returns `text[range]`.
///
/// A range that is out of bounds or splits a character is a bug in the caller: it panics under
/// `debug_assertions`, so that tests and fuzzing detect it, and yields `""` in release builds.
#[inline]
#[track_caller]
pub fn slice(text: &str, range: impl SliceIndex<str, Output = str>) -> &str {
    let part = text.get(range);
    debug_assert!(part.is_some(), "slice is out of bounds or splits a character");
    part.unwrap_or_default()
}

/// Returns `items[range]`, such as bytes; an invalid range is a bug, as for [`slice()`].
#[inline]
#[track_caller]
pub fn subslice<T>(items: &[T], range: impl SliceIndex<[T], Output = [T]>) -> &[T] {
    let part = items.get(range);
    debug_assert!(part.is_some(), "slice is out of bounds");
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
    fn a_valid_range_is_the_items_at_it() {
        assert_eq!((subslice(b"ab", 1..), subslice(b"ab", 2..)), (&b"b"[..], &b""[..]));
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    #[cfg(debug_assertions)]
    fn a_range_out_of_bounds_is_seen() {
        subslice(b"ab", 3..);
    }

    #[test]
    #[should_panic(expected = "splits a character")]
    #[cfg(debug_assertions)]
    fn a_range_that_splits_a_character_is_seen() {
        slice("é", 1..);
    }
}
