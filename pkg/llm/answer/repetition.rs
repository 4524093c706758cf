//! Detection of repetitive text while it streams.

use memchr::memmem;

use forgeline_json::{slice, subslice};

/// The distance between two checks, in bytes of text.
const STEP_BYTES: usize = 256;
/// Maximum length of the repeated text.
const MAX_PERIOD_BYTES: usize = 2 << 10;
/// The length of repeated text at which the answer is cut, in bytes.
const MAX_REPEATED_BYTES: usize = 2 << 10;
/// The number of times in a row at which a repeated sentence or line is reported.
const MAX_TIMES: usize = 8;
/// Minimum number of letters in a repeated sentence; the rows of an empty table have fewer.
const MIN_LETTERS: usize = 12;
/// The length of the end of the text by which an earlier occurrence is found.
const NEEDLE_BYTES: usize = 32;

/// The check points in one kind of text.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RepetitionCheck {
    /// Bytes since the last check.
    unseen: usize,
}

impl RepetitionCheck {
    /// Takes the next piece of `text`; if it reaches a check point, returns the number of its bytes up to there. The
    /// check points do not depend on how the text is split.
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

/// Returns `true` if `text` ends with the same sentence or line [`MAX_TIMES`] times, or with
/// [`MAX_REPEATED_BYTES`] that repeat the text before them.
pub(crate) fn repeats_itself(text: &str) -> bool {
    let most = MAX_PERIOD_BYTES + MAX_REPEATED_BYTES;
    let start = text.ceil_char_boundary(text.len().saturating_sub(most));
    let text = slice(text, start..);
    let bytes = text.as_bytes();
    let Some((needle, before)) = bytes.last_chunk::<NEEDLE_BYTES>().zip(bytes.split_last()) else {
        return false;
    };
    // Most texts contain no earlier occurrence: the forward search, which is the faster one, rules them out.
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
            let (mut repetition, mut at, mut looks) = (RepetitionCheck::default(), 0, Vec::new());
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
