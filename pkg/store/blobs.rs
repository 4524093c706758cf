//! Long runs of base64 in texts, such as images, stored once per content.

use std::{fmt::Write as _, ops::Range};

use sha2::{Digest as _, Sha256};

/// Minimum length of a run that is stored separately, in bytes.
const MIN_BYTES: usize = 1_024;

/// Delimiter of the placeholder of a run. JSON does not contain it elsewhere.
const MARK: char = '\u{1}';

/// The SHA-256 of a run.
pub(super) type BlobHash = [u8; 32];

/// A text whose long runs of base64 were extracted.
#[derive(Debug, Default)]
pub(super) struct SplitText<'t> {
    /// The text, with a placeholder for each run.
    pub(super) text: String,
    /// The extracted runs.
    pub(super) blobs: Vec<(BlobHash, &'t str)>,
}

/// Extracts the long runs of base64 from a text.
pub(super) fn split(text: &str) -> SplitText<'_> {
    let mut split = SplitText { text: String::with_capacity(text.len()), blobs: Vec::new() };
    let mut rest = text;
    while let Some(run) = first_run(rest) {
        // The ends of a run are next to ASCII only.
        let (other, taken) = (rest.get(..run.start), rest.get(run.clone()));
        let (Some(other), Some(taken)) = (other, taken) else { break };
        push_other(other, &mut split.text);
        let hash: BlobHash = Sha256::digest(taken).into();
        split.text.push(MARK);
        for byte in hash {
            // Writing to a string cannot fail.
            let _written = write!(split.text, "{byte:02x}");
        }
        split.text.push(MARK);
        split.blobs.push((hash, taken));
        rest = rest.get(run.end..).unwrap_or_default();
    }
    push_other(rest, &mut split.text);
    split
}

/// Appends text that is not extracted; doubles each delimiter in it.
fn push_other(other: &str, out: &mut String) {
    for (at, part) in other.split(MARK).enumerate() {
        if at > 0 {
            out.extend([MARK, MARK]);
        }
        out.push_str(part);
    }
}

/// Finds the first long run. Searches windows of the minimum length backwards, and skips to after the last other byte: most of a text is not examined.
fn first_run(text: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut begin = 0;
    while let Some(tried) = bytes.get(begin..begin + MIN_BYTES) {
        if let Some(other) = tried.iter().rposition(|byte| !is_base64(*byte)) {
            begin += other + 1;
            continue;
        }
        let behind = bytes.get(begin + MIN_BYTES..).unwrap_or_default();
        let more = behind.iter().take_while(|byte| is_base64(**byte)).count();
        return Some(begin..begin + MIN_BYTES + more);
    }
    None
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

/// Reinserts the runs, which `find` returns; `None` if one is missing.
pub(super) fn join<T: AsRef<str>>(
    text: &str,
    mut find: impl FnMut(&BlobHash) -> Option<T>,
) -> Option<String> {
    let mut joined = String::with_capacity(text.len());
    let mut parts = text.split(MARK);
    joined.push_str(parts.next()?);
    while let Some(hex) = parts.next() {
        if hex.is_empty() {
            joined.push(MARK);
        } else {
            joined.push_str(find(&hash_of(hex)?)?.as_ref());
        }
        joined.push_str(parts.next()?);
    }
    Some(joined)
}

/// Returns the hashes of the extracted runs of a text.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(super) fn hashes(text: &str) -> Vec<BlobHash> {
    text.split(MARK).skip(1).step_by(2).filter_map(hash_of).collect()
}

fn hash_of(hex: &str) -> Option<BlobHash> {
    let mut hash = [0; 32];
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn round_trip(text: &str) -> (String, usize) {
        let taken = split(text);
        let blobs: HashMap<_, _> = taken.blobs.iter().copied().collect();
        (join(&taken.text, |hash| blobs.get(hash)).unwrap(), blobs.len())
    }

    #[test]
    fn a_picture_is_taken_out_once_and_put_back_as_it_was() {
        let picture = "iVBORw0KGgo".repeat(100);
        let text = format!("{{\"a\":\"{picture}\",\"b\":\"data:image/png;base64,{picture}\"}}");
        let taken = split(&text);
        assert!(taken.text.len() < 250, "{}", taken.text);
        assert_eq!(taken.blobs.len(), 2);
        assert_eq!(round_trip(&text), (text.clone(), 1));
        assert!(join("a\u{1}b", |_| Some("")).is_none(), "what is no place is refused");
        assert!(join(&taken.text, |_| None::<&str>).is_none(), "what is missing is told");
        let short = "x".repeat(MIN_BYTES - 1);
        assert!(split(&short).blobs.is_empty());
    }

    // As it was before most of a text was passed over.
    fn runs_byte_by_byte(text: &str) -> Vec<&str> {
        let parts = text.split(|char: char| !u8::try_from(char).is_ok_and(is_base64));
        parts.filter(|part| part.len() >= MIN_BYTES).collect()
    }

    proptest! {
        #[test]
        fn each_long_run_is_found_and_nothing_else(lengths in prop::collection::vec(
            (prop_oneof![0_usize..40, 1_000_usize..1_050, 2_040_usize..2_060], prop::sample::select(vec![" ", "é", "\u{1}", "\""])), 0..8,
        )) {
            let text: String = lengths.iter().map(|(length, other)| "A".repeat(*length) + other).collect();
            let taken = split(&text);
            let runs: Vec<_> = taken.blobs.iter().map(|(_, run)| *run).collect();
            prop_assert_eq!(runs, runs_byte_by_byte(&text));
            prop_assert_eq!(round_trip(&text).0, text);
        }

        #[test]
        fn any_text_comes_back(parts in prop::collection::vec(
            prop_oneof![any::<String>(), Just("\u{1}".to_owned()), Just("QUJD".repeat(300))], 0..8,
        )) {
            let text = parts.concat();
            prop_assert_eq!(round_trip(&text).0, text);
        }
    }
}
