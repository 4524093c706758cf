//! Standard base64, for documents that go out as text.

/// The bytes; `None` when `text` is no base64. Line breaks and padding may be there or not.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0_u32, 0_u32);
    let letters = text.trim_end_matches(['=', '\n', '\r']).bytes();
    for letter in letters.filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count).to_le_bytes()[0]);
        }
    }
    // One letter alone is no byte.
    (count < 6).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn text_comes_back_and_what_is_no_base64_is_refused() {
        #[rustfmt::skip]
        let cases: [(&str, Option<&[u8]>); 8] = [
            ("",             Some(b"")),
            ("TQ==",         Some(b"M")),
            ("TWE=",         Some(b"Ma")),
            ("TWFu",         Some(b"Man")),
            ("TW\nFu\n",     Some(b"Man")),
            ("+/+/",         Some(&[0xFB, 0xFF, 0xBF])),
            ("T",            None),
            ("T-==",         None),
        ];
        for (text, want) in cases {
            assert_eq!(decode(text).as_deref(), want, "{text:?}");
        }
    }
}
