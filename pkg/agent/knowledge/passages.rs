//! Documents split into passages.

/// Maximum length of a passage, in bytes.
const MAX_PASSAGE_BYTES: usize = 2 << 10;

/// Returns the passages of a text: at most 2 KiB each, cut after the last empty line, line or word
/// that fits. Joined, they are the whole text.
pub(super) fn split_passages(text: &str) -> Vec<&str> {
    let mut passages = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (passage, more) = rest.split_at_checked(cut(rest)).unwrap_or((rest, ""));
        passages.push(passage);
        rest = more;
    }
    passages
}

/// Returns the end of the first passage of `text`.
fn cut(text: &str) -> usize {
    if text.len() <= MAX_PASSAGE_BYTES {
        return text.len();
    }
    let most = text.floor_char_boundary(MAX_PASSAGE_BYTES);
    let head = text.get(..most).unwrap_or(text);
    let ends = ["\n\n", "\n", " "].into_iter().filter_map(|end| Some(head.rfind(end)? + end.len()));
    // A cut near the start would leave tiny passages.
    ends.into_iter().find(|end| *end > MAX_PASSAGE_BYTES / 2).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn passages_are_the_text_and_none_is_empty_or_too_long(
            pieces in proptest::collection::vec(
                prop_oneof![Just("word "), Just("\n\n"), Just("\n"), Just("橋橋橋橋橋"), Just("long_long_long_long")],
                0..900,
            ),
        ) {
            let text = pieces.concat();
            let passages = split_passages(&text);
            prop_assert_eq!(passages.concat(), text.as_str());
            for passage in passages {
                prop_assert!(!passage.is_empty() && passage.len() <= MAX_PASSAGE_BYTES);
            }
        }
    }

    #[test]
    fn a_passage_ends_behind_a_paragraph_a_line_or_a_word() {
        let half = "w".repeat(MAX_PASSAGE_BYTES / 2);
        let long = "x".repeat(MAX_PASSAGE_BYTES);
        for end in ["\n\n", "\n", " "] {
            assert_eq!(split_passages(&format!("{half}{end}{long}"))[0], format!("{half}{end}"));
        }
        assert_eq!(split_passages(&format!("{long}y")), [long.as_str(), "y"]);
        assert_eq!(split_passages(&format!("a {long}")).len(), 2);
        assert_eq!(split_passages(""), [""; 0]);
    }
}
