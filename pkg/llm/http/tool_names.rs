//! Tool names on the wire: providers accept only letters, digits, `_` and `-`.
//!
//! Models read names, so a dot becomes `_`: `files_read` for `files.read`. This cannot be reversed
//! from the name alone; [`WireNames`] knows the tools of a request.

use std::collections::HashMap;

use crate::decode::tool_name;
use forgeline_json::subslice;
use forgeline_types::Text;

/// Encodes a tool's name with the characters that providers accept: dots become `_`, the bytes of other characters
/// `_xHH_` each.
#[must_use]
pub(crate) fn encode(name: &str) -> Text {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if name.contains('.') && name.bytes().all(is_known) {
        let plain = name.replace('.', "_");
        if !plain.contains("_x") {
            return Text::from(plain);
        }
    }
    escape(name)
}

/// Encodes a name or an id so that [`tool_name`] restores it: the bytes of characters that providers do not accept
/// become `_xHH_` each.
#[must_use]
pub(crate) fn escape(name: &str) -> Text {
    let bytes = name.as_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if bytes.iter().all(is_plain) && !name.contains("_x") {
        return Text::from(name);
    }
    let mut out = String::with_capacity(name.len() + 8);
    for (at, byte) in bytes.iter().enumerate() {
        // An underscore that would begin an escape is escaped itself.
        let rest = subslice(bytes, at..);
        let looks_escaped = matches!(rest, [b'_', b'x', high, low, ..]
            if is_hex(*high) && is_hex(*low) && rest.get(4).is_some_and(|&next| next == b'_' || !is_plain(&next)));
        if is_plain(byte) && !looks_escaped {
            out.push(char::from(*byte));
        } else {
            let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
            out.extend(['_', 'x', digit(byte >> 4), digit(byte & 15), '_']);
        }
    }
    Text::from(out)
}

/// The names of a request's tools by their names on the wire, where these do not determine them.
#[derive(Debug, Default)]
pub(crate) struct WireNames(HashMap<Text, Text>);

impl WireNames {
    /// Adds a tool that is sent under the name `wire`.
    pub(crate) fn add(&mut self, wire: Text, name: &Text) {
        if tool_name(&wire) != *name {
            self.0.insert(wire, name.clone());
        }
    }

    /// Replaces a name from the wire with the name of its tool.
    pub(crate) fn restore(&self, name: &mut Text) {
        if let Some(own) = self.0.get(name) {
            name.clone_from(own);
        }
    }
}

fn is_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn safe_names_stay_and_others_come_back() {
        #[rustfmt::skip]
        let cases = [
            ("get_weather",  "get_weather"),
            ("get_xml",      "get_xml"),
            ("a..b",         "a__b"),
            ("a.x2e.b",      "a_x2e_x2e_x2e_b"),
            ("a b.c",        "a_x20_b_x2e_c"),
            ("a_x2e_b",      "a_x5f_x2e_b"),
            ("_x2e.",        "_x5f_x2e_x2e_"),
            ("é",            "_xc3__xa9_"),
        ];
        for (name, wire) in cases {
            assert_eq!(encode(name), wire);
            assert_eq!(tool_name(&escape(name)), name);
            assert!(tool_name(wire) == name || name == "a..b");
        }
        assert_eq!(encode("files.read"), "files_read");
        assert_eq!(escape("files.read"), "files_x2e_read");
        assert_eq!(tool_name("_xff_"), "_xff_");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_name_comes_back(
            parts in prop::collection::vec(
                prop::sample::select(&["_", "x", "2", "e", ".", "a", "-", "é", "_x2e_"][..]), 0..12,
            ),
        ) {
            let name = parts.concat();
            let wire = encode(&name);
            let is_plain = |wire: &Text| wire.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            prop_assert!(is_plain(&wire));
            prop_assert!(tool_name(&wire) == name.as_str() || wire == name.replace('.', "_").as_str());
            let wire = escape(&name);
            prop_assert!(is_plain(&wire));
            prop_assert_eq!(tool_name(&wire), name.as_str());
        }
    }
}
