//! Standard base64, as tools and users write it.

use std::borrow::Cow;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD,
};

/// Accepts missing padding and ignores bits after the last byte.
const TOLERANT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes `text`, with or without line breaks and padding; `None` if it is not base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let letters: Vec<_> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    TOLERANT.decode(letters).ok()
}

/// Returns the bytes of `text`, and `text` as vendors accept it: padded, without line breaks. `None` if it is not base64.
pub(super) fn canonical(text: &str) -> Option<(Vec<u8>, Cow<'_, str>)> {
    if let Ok(bytes) = BASE64_STANDARD.decode(text) {
        return Some((bytes, Cow::Borrowed(text)));
    }
    let bytes = decode(text)?;
    let written = BASE64_STANDARD.encode(&bytes);
    Some((bytes, Cow::Owned(written)))
}

#[cfg(test)]
mod tests {
    use super::{canonical, decode};

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

    #[test]
    fn what_is_written_otherwise_is_written_anew() {
        for (text, want) in
            [("TWE=", "TWE="), ("TWE", "TWE="), ("TW\nFu\n", "TWFu"), ("TR==", "TQ==")]
        {
            assert_eq!(canonical(text).unwrap().1, want, "{text:?}");
        }
        assert_eq!(canonical("T-=="), None);
    }
}
