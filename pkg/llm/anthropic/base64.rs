//! Standard base64, for documents that go out as text.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// Padding may be there or not, and bits behind the last byte do not count.
const TOLERANT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes `text`; `None` when it is not base64. Line breaks and padding may be there or not.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let letters: Vec<_> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    TOLERANT.decode(letters).ok()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn text_comes_back_and_what_is_not_base64_is_refused() {
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
