//! UTF-8 that arrives in pieces.

use forgeline_json::subslice;

/// A decoder for UTF-8 that arrives in pieces: a character cut in two is joined again, and bytes
/// that are not UTF-8 become U+FFFD, as the WHATWG Encoding Standard specifies.
#[derive(Debug, Default)]
pub(super) struct Utf8Decoder {
    /// The start of a character whose end has not arrived; at most three bytes between pushes.
    held: Vec<u8>,
}

impl Utf8Decoder {
    /// Takes the next bytes and returns the characters that are now complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let whole = self.held.len() - cut_character_length(&self.held);
        let rest = self.held.split_off(whole);
        into_text(std::mem::replace(&mut self.held, rest))
    }

    /// Ends the text: an incomplete character becomes U+FFFD.
    pub(super) fn finish(self) -> String {
        into_text(self.held)
    }
}

/// Converts `bytes` to text, copying only when something has to be replaced.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns the length of the incomplete character at the end of `bytes`; 0 when they end between two characters.
fn cut_character_length(bytes: &[u8]) -> usize {
    for length in 1..=bytes.len().min(3) {
        let tail = subslice(bytes, bytes.len() - length..);
        if tail.first().is_some_and(|first| first & 0b1100_0000 != 0b1000_0000) {
            let cut = std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_none());
            return if cut { length } else { 0 };
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut decoder = Utf8Decoder::default();
        let mut text = String::new();
        for chunk in chunks {
            text.push_str(&decoder.push(chunk));
        }
        text + &decoder.finish()
    }

    #[test]
    fn every_case_reads_the_same_at_every_cut() {
        #[rustfmt::skip]
        let cases: [(&str, &[u8], &str); 10] = [
            ("ascii",                b"plain",                      "plain"),
            ("two to four bytes",    "aé日🦀z".as_bytes(),           "aé日🦀z"),
            ("stray continuation",   b"a\x80b",                     "a\u{fffd}b"),
            ("overlong",             b"\xc0\xaf",                   "\u{fffd}\u{fffd}"),
            ("surrogate",            b"\xed\xa0\x80",               "\u{fffd}\u{fffd}\u{fffd}"),
            ("beyond the last",      b"\xf4\x90\x80\x80",           "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("cut, then ascii",      b"\xe6\x97x",                  "\u{fffd}x"),
            ("cut at the end",       b"x\xf0\x9f\xa6",              "x\u{fffd}"),
            ("lead after lead",      b"\xe6\xe6\x97\xa5",           "\u{fffd}日"),
            ("never a lead",         b"\xff\xfe",                   "\u{fffd}\u{fffd}"),
        ];
        for (name, bytes, want) in cases {
            assert_eq!(String::from_utf8_lossy(bytes), want, "{name}: the oracle itself");
            for at in 0..=bytes.len() {
                let (head, tail) = bytes.split_at(at);
                assert_eq!(decode([head, tail]), want, "{name}: cut at byte {at}");
            }
            assert_eq!(decode(bytes.chunks(1)), want, "{name}: byte by byte");
        }
    }

    #[test]
    fn a_whole_character_is_never_held_back() {
        let mut decoder = Utf8Decoder::default();
        assert_eq!(decoder.push("日".as_bytes()), "日");
        assert_eq!(decoder.push(b"\xe6"), "");
        assert_eq!(decoder.push(b"\x97"), "");
        assert_eq!(decoder.push(b"\xa5!"), "日!");
    }
}
