//! Repair of surrogate pairs that a server split: JavaScript servers cut text between UTF-16 units and
//! write each half as a separate escape, which serde rejects.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use forgeline_json::slice;

/// The length of an escape such as `\ud83d`.
const ESCAPE_BYTES: usize = 6;

/// The replacement for half a character; as long as an escape, so that positions do not change.
const REPLACEMENT: &str = "\\ufffd";

/// Returns `true` if `json` may contain surrogates written as escapes.
pub(super) fn has_surrogates(json: &str) -> bool {
    let bytes = json.as_bytes();
    has_backslash(bytes)
        && memchr_iter(b'\\', bytes).any(|at| {
            matches!(
                bytes.get(at + 1..at + 4),
                Some([b'u', b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F'])
            )
        })
}

/// Returns `true` if there is a backslash, which few events have. Whole blocks are compared
/// at once, which is faster than calling `memchr` on texts as short as events.
fn has_backslash(bytes: &[u8]) -> bool {
    let is_in = |block: &[u8; 32]| {
        block.iter().fold(0, |found, byte| found | u8::from(*byte == b'\\')) != 0
    };
    match bytes.last_chunk() {
        // The last block overlaps the one before it.
        Some(last) => is_in(last) || bytes.as_chunks().0.iter().any(is_in),
        None => bytes.contains(&b'\\'),
    }
}

/// The data of an event without lone surrogates.
#[derive(Debug)]
pub(super) struct RepairedData {
    json: String,
    /// The first half of a character at the end of a string.
    trailing: Option<(Range<usize>, String)>,
    /// The second half of a character at the start of a string.
    leading: Option<(Range<usize>, String)>,
}

impl RepairedData {
    /// Replaces the lone surrogates in `json` with U+FFFD.
    pub(super) fn new(json: &str) -> Self {
        let mut repaired = Self { json: json.to_owned(), trailing: None, leading: None };
        let (bytes, mut at) = (json.as_bytes(), 0);
        while let Some(backslash) = bytes.get(at..).and_then(|rest| memchr(b'\\', rest)) {
            let start = at + backslash;
            let Some(code) = unit(json, start) else {
                // The character after a backslash may be another backslash.
                at = start + 2;
                continue;
            };
            at = start + ESCAPE_BYTES;
            let is_high = (0xD800..0xDC00).contains(&code);
            let is_low = |code: u32| (0xDC00..0xE000).contains(&code);
            if is_high && unit(json, at).is_some_and(is_low) {
                at += ESCAPE_BYTES;
            } else if is_high || is_low(code) {
                let half = (start..at, slice(json, start..at).to_owned());
                if is_high && bytes.get(at) == Some(&b'"') {
                    repaired.trailing = Some(half);
                } else if !is_high && slice(json, ..start).ends_with('"') {
                    repaired.leading.get_or_insert(half);
                }
                repaired.json.replace_range(start..at, REPLACEMENT);
            }
        }
        repaired
    }

    /// Returns the repaired data.
    pub(super) fn json(&self) -> &str {
        &self.json
    }

    /// Returns `true` if a character may continue in the next event.
    pub(super) fn is_open(&self) -> bool {
        self.trailing.is_some()
    }

    /// Joins the character that is split between this event and `next`, if there is one.
    pub(super) fn join(&mut self, next: &mut Self) {
        let Some((at, high)) = self.trailing.take() else { return };
        let Some((rest, low)) = next.leading.take() else { return };
        self.json.replace_range(at, &(high + &low));
        let moved = rest.start;
        next.json.replace_range(rest, "");
        // Another string of the event may end in a half before the one that begins with the rest.
        if let Some((trailing, _)) = next.trailing.as_mut().filter(|(at, _)| at.start > moved) {
            *trailing = trailing.start - ESCAPE_BYTES..trailing.end - ESCAPE_BYTES;
        }
    }
}

/// Returns the UTF-16 unit whose escape is at `at`.
fn unit(json: &str, at: usize) -> Option<u32> {
    let digits = json.get(at..)?.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::RepairedData;

    #[test]
    fn halves_of_several_strings_stay_where_they_are() {
        #[rustfmt::skip]
        let cases = [
            ("the rest is first",  r#"["\ude00","\ud83d"]"#,       r#"["","\ufffd"]"#,       r#"["","\ud83d\ude00"]"#),
            ("the rest is last",   r#"["\ud83d","\ude00"]"#,       r#"["\ufffd",""]"#,       r#"["\ud83d\ude00",""]"#),
            ("behind other text",  r#"["日","\ud83d","\ude00x"]"#, r#"["日","\ufffd","x"]"#, r#"["日","\ud83d\ude00","x"]"#),
        ];
        for (name, next, joined, continued) in cases {
            let (mut first, mut next) = (RepairedData::new(r#""\ud83d""#), RepairedData::new(next));
            first.join(&mut next);
            assert_eq!((first.json(), next.json()), (r#""\ud83d\ude00""#, joined), "{name}");
            next.join(&mut RepairedData::new(r#""\ude00""#));
            assert_eq!(next.json(), continued, "{name}");
        }
    }
}
