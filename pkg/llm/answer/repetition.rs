//! Finds text that says the same over and over, while it streams.

use memchr::memmem;

use crate::types::{slice, subslice};

/// The distance of two looks, in bytes of text.
const STEP_BYTES: usize = 256;
/// Longest text that is repeated.
const MAX_PERIOD_BYTES: usize = 2 << 10;
/// Most text that repeats what stands before it, in bytes.
const MAX_REPEATED_BYTES: usize = 2 << 10;
/// Most times of a sentence or a line in a row.
const MAX_TIMES: usize = 8;
/// Letters of a sentence; the rows of an empty table have less.
const MIN_LETTERS: usize = 12;
/// The end of the text by which an earlier one is found.
const NEEDLE_BYTES: usize = 32;

/// The places where one kind of text is looked at.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Repetition {
    /// Bytes since the last look.
    unseen: usize,
}

impl Repetition {
    /// Takes `text`, the next of its kind; returns the bytes of it up to the place where all so far is to be
    /// looked at, if it has come. Those places do not depend on how the text is cut.
    pub(crate) fn take(&mut self, text: &str) -> Option<usize> {
        let room = STEP_BYTES.saturating_sub(self.unseen);
        if text.len() < room {
            self.unseen += text.len();
            return None;
        }
        self.unseen = 0;
        Some(text.ceil_char_boundary(room))
    }
}

/// Returns `true` when `text` ends with the same sentence or line [`MAX_TIMES`] times, or with
/// [`MAX_REPEATED_BYTES`] that repeat what stands before them.
pub(crate) fn repeats_itself(text: &str) -> bool {
    let most = MAX_PERIOD_BYTES + MAX_REPEATED_BYTES;
    let start = text.ceil_char_boundary(text.len().saturating_sub(most));
    let text = slice(text, start..);
    let bytes = text.as_bytes();
    let Some((needle, before)) = bytes.last_chunk::<NEEDLE_BYTES>().zip(bytes.split_last()) else {
        return false;
    };
    // Most texts do not have it: the search from the front is the fast one, and says so.
    if memmem::find(before.1, needle).is_none() {
        return false;
    }
    let Some(found) = memmem::rfind(before.1, needle) else { return false };
    let period = bytes.len() - NEEDLE_BYTES - found;
    let earlier = subslice(bytes, ..bytes.len() - period);
    let pairs = earlier.iter().rev().zip(bytes.iter().rev());
    let repeated = pairs.take_while(|(earlier, later)| earlier == later).count();
    if repeated >= MAX_REPEATED_BYTES {
        return true;
    }
    let unit = text.get(bytes.len() - period..).unwrap_or_default();
    repeated >= (MAX_TIMES - 1) * period
        && unit.chars().filter(|letter| letter.is_alphabetic()).count() >= MIN_LETTERS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_itself_is_told_from_what_does_not() {
        let paragraph =
            "The harbour opens at six. Its crane lifts what the ships bring, and nobody asks why. "
                .repeat(3);
        let list = ["One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"]
            .map(|word| format!("{word} costs more than the line before it.\n"))
            .concat();
        let cases: [(&str, String, bool); 11] = [
            ("nothing", String::new(), false),
            ("a sentence, seven times", "I will read the file now. ".repeat(7), false),
            ("a sentence, eight times", "I will read the file now. ".repeat(8), true),
            (
                "the same behind other text",
                format!("{paragraph}{}", "Let me check that again.\n".repeat(8)),
                true,
            ),
            ("a sentence without spaces", "これからそのファイルを読みます。".repeat(8), true),
            (
                "rows of an empty table",
                format!("| A | B |\n|---|---|\n{}", "| ____________ | ____________ |\n".repeat(12)),
                false,
            ),
            ("a line of dashes", "-".repeat(1_000), false),
            ("two kibibytes of dashes", "-".repeat(2_100), true),
            ("a paragraph, eight times", paragraph.repeat(8), true),
            ("a list whose lines differ", list, false),
            ("a paragraph, twice", paragraph.repeat(2), false),
        ];
        for (name, text, want) in cases {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            let is_found = ends.into_iter().any(|end| repeats_itself(slice(&text, ..end)));
            assert_eq!(is_found, want, "{name}");
        }
    }

    #[test]
    fn the_places_of_the_looks_do_not_depend_on_the_cuts() {
        let text = "Grüße aus Österreich – 日本. ".repeat(60);
        let looks = |size: usize| {
            let (mut repetition, mut at, mut looks) = (Repetition::default(), 0, Vec::new());
            while at < text.len() {
                let piece = slice(&text, at..text.ceil_char_boundary(at + size));
                let taken = repetition.take(piece);
                at += taken.unwrap_or(piece.len());
                looks.extend(taken.map(|_| at));
            }
            looks
        };
        let whole = looks(text.len());
        assert!(whole.len() >= 6, "{whole:?}");
        for size in [1, 2, 3, 7, 255, 256, 257, 700] {
            assert_eq!(looks(size), whole, "pieces of {size} bytes");
        }
    }
}
