//! The literal texts that open and close things, and recognising them at the front of text.

use std::borrow::Cow;

/// Longest list of attributes inside an opening tag, in bytes.
pub(super) const MAX_ATTRIBUTE_BYTES: usize = 256;

/// A literal text with which a model marks where something begins or ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    /// The text without its `>`; in any ASCII case.
    text: Cow<'static, str>,
    tail: Tail,
}

/// What may stand between the text of a marker and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    /// Blanks, then `>`.
    Blanks,
    /// Blanks and `name="value"` pairs, then `>`.
    Attributes,
}

/// What the front of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// No marker.
    No,
    /// It may become one when more follows.
    Maybe,
    /// A marker of this many bytes.
    Yes(usize),
}

impl Marker {
    /// A tag in any ASCII case, with blanks allowed before its `>`. Give it without the `>`.
    #[must_use]
    pub(super) const fn tag(text: &'static str) -> Self {
        Self { text: Cow::Borrowed(text), tail: Tail::Blanks }
    }

    /// A tag as [`tag`](Self::tag), with attributes allowed, at most 256 bytes of them.
    #[must_use]
    pub(super) const fn tag_with_attributes(text: &'static str) -> Self {
        Self { text: Cow::Borrowed(text), tail: Tail::Attributes }
    }

    pub(super) fn own_tag(text: String) -> Self {
        Self { text: Cow::Owned(text), tail: Tail::Blanks }
    }

    /// What the front of `text` is.
    #[inline]
    pub(super) fn check(&self, text: &[u8]) -> Found {
        // The second byte settles most of what starts like a marker.
        match (text.get(1), self.text.as_bytes().get(1)) {
            (Some(byte), Some(wanted)) if !byte.eq_ignore_ascii_case(wanted) => Found::No,
            _ => self.check_all_of(text),
        }
    }

    fn check_all_of(&self, text: &[u8]) -> Found {
        let length = self.text.len().min(text.len());
        let (front, literal) = (text.get(..length), self.text.as_bytes().get(..length));
        let (front, literal) = (front.unwrap_or_default(), literal.unwrap_or_default());
        if !front.eq_ignore_ascii_case(literal) {
            return Found::No;
        }
        if length < self.text.len() {
            return Found::Maybe;
        }
        let rest = text.get(length..).unwrap_or_default();
        let tail = match self.tail {
            Tail::Blanks => check_blanks(rest),
            Tail::Attributes => check_attributes(rest),
        };
        match tail {
            Found::Yes(more) => Found::Yes(length + more),
            other @ (Found::No | Found::Maybe) => other,
        }
    }
}

/// The first of `markers` at the front of `text`, with its place in the list.
#[inline]
pub(super) fn check_all(markers: &[Marker], text: &[u8]) -> (Found, usize) {
    let mut best = (Found::No, 0);
    for (which, marker) in markers.iter().enumerate() {
        match marker.check(text) {
            Found::Yes(length) => return (Found::Yes(length), which),
            Found::Maybe => best.0 = Found::Maybe,
            Found::No => {}
        }
    }
    best
}

fn check_blanks(text: &[u8]) -> Found {
    let blanks = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    match text.get(blanks) {
        Some(b'>') => Found::Yes(blanks + 1),
        None if blanks <= MAX_ATTRIBUTE_BYTES => Found::Maybe,
        _ => Found::No,
    }
}

fn check_attributes(text: &[u8]) -> Found {
    let mut at = 0;
    loop {
        let blanks = rest_of(text, at).iter().take_while(|b| b.is_ascii_whitespace()).count();
        match text.get(at + blanks) {
            _ if at + blanks > MAX_ATTRIBUTE_BYTES => return Found::No,
            None => return Found::Maybe,
            Some(b'>') => return Found::Yes(at + blanks + 1),
            Some(_) if blanks == 0 => return Found::No,
            Some(_) => at += blanks,
        }
        let name = rest_of(text, at).iter().take_while(|byte| is_name_byte(**byte)).count();
        at += name;
        for expected in [b'=', b'"'] {
            match text.get(at) {
                _ if name == 0 || at > MAX_ATTRIBUTE_BYTES => return Found::No,
                None => return Found::Maybe,
                Some(byte) if *byte == expected => at += 1,
                Some(_) => return Found::No,
            }
        }
        // As in XML, a value holds no `<`: inside what may be a marker no other one begins.
        match memchr::memchr3(b'"', b'\n', b'<', rest_of(text, at)) {
            Some(length) if at + length < MAX_ATTRIBUTE_BYTES => {
                if text.get(at + length) != Some(&b'"') {
                    return Found::No;
                }
                at += length + 1;
            }
            None if text.len() <= MAX_ATTRIBUTE_BYTES => return Found::Maybe,
            _ => return Found::No,
        }
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b'.')
}

fn rest_of(text: &[u8], at: usize) -> &[u8] {
    text.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_recognised_whole_in_part_or_not() {
        let tag = Marker::tag("<thinking");
        let tool = Marker::tag_with_attributes("<tool");
        #[rustfmt::skip]
        let cases = [
            (&tag,   "<thinking>x",           Found::Yes(10)),
            (&tag,   "<THINKing \n>",         Found::Yes(12)),
            (&tag,   "<think",                Found::Maybe),
            (&tag,   "<thinking ",            Found::Maybe),
            (&tag,   "<think>",               Found::No),
            (&tag,   "< thinking>",           Found::No),
            (&tag,   "<thinking x>",          Found::No),
            (&tool,  "<tool>",                Found::Yes(6)),
            (&tool,  "<tool name=\"x\">",     Found::Yes(15)),
            (&tool,  "<tool a=\">\" b-c=\"\" >", Found::Yes(20)),
            (&tool,  "<tool a=\"<",           Found::No),
            (&tool,  "<tool name=\"x",        Found::Maybe),
            (&tool,  "<tool name=",           Found::Maybe),
            (&tool,  "<tool name>",           Found::No),
            (&tool,  "<tool_call>",           Found::No),
            (&tool,  "<tool a=\"x\"b=\"y\">", Found::No),
        ];
        for (marker, text, want) in cases {
            assert_eq!(marker.check(text.as_bytes()), want, "{text}");
        }
        let long = format!("<tool a=\"{}", "x".repeat(MAX_ATTRIBUTE_BYTES));
        assert_eq!(tool.check(long.as_bytes()), Found::No, "too many attribute bytes");
    }
}
