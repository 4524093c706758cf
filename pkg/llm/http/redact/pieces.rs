//! The strings of a streamed body, joined by key.

use std::{collections::HashMap, ops::Range};

use forgeline_json::subslice;

/// The strings under one key of a body, joined as written.
#[derive(Debug, Default)]
pub(super) struct JoinedPieces {
    pub(super) bytes: Vec<u8>,
    /// The start of each string, in `bytes` and in the body.
    starts: Vec<(usize, usize)>,
}

impl JoinedPieces {
    /// Returns the ranges in the body that a range of `bytes` comes from.
    pub(super) fn places(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let ends = self.starts.iter().skip(1).map(|(start, _)| *start);
        let ends = ends.chain([self.bytes.len()]);
        self.starts.iter().zip(ends).filter_map(move |((start, place), end)| {
            let (from, to) = (range.start.max(*start), range.end.min(end));
            (from < to).then(|| place + from - start..place + to - start)
        })
    }
}

/// Joins the strings of `body` that follow the same key; keys with only one string are left out.
///
/// Works on any JSON in any framing, such as server-sent events and lines, without parsing it.
pub(super) fn by_key(body: &[u8]) -> Vec<JoinedPieces> {
    let mut joined: HashMap<&[u8], JoinedPieces> = HashMap::new();
    let mut key: Option<&[u8]> = None;
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'"', subslice(body, at..)) {
        let start = at + open + 1;
        let end = string_end(body, start);
        let text = subslice(body, start..end);
        at = body.len().min(end + 1);
        let after = subslice(body, at..).trim_ascii_start();
        if after.first() == Some(&b':') {
            key = Some(text);
        } else if let Some(key) = key.take() {
            let joined = joined.entry(key).or_default();
            joined.starts.push((joined.bytes.len(), start));
            joined.bytes.extend_from_slice(text);
        }
    }
    joined.into_values().filter(|joined| joined.starts.len() > 1).collect()
}

/// Returns the end of the string that begins at `start`: its quote, or the end of its line, since
/// text that is not JSON may contain a single quote.
fn string_end(body: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(byte) = body.get(at) {
        match byte {
            b'"' | b'\n' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_word_are_found_under_their_key() {
        let body =
            b"data: {\"c\":\"ab\",\"d\" : \"x\"}\n\ndata: {\"c\":\"cd\\\"\",\"d\":\"y\"}\n\n";
        let all = by_key(body);
        let joined = all.iter().find(|joined| joined.bytes == b"abcd\\\"").unwrap();
        let places: Vec<_> = joined.places(1..3).map(|place| &body[place]).collect();
        assert_eq!(places, [b"b", b"c"]);
        assert_eq!(all.len(), 2);
    }
}
