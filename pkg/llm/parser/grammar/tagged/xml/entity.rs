//! Entities in text that arrives in pieces; an `&` that starts none is text.

use compact_str::CompactString;
use quick_xml::escape::resolve_predefined_entity;

use crate::{
    json::{ByteKind, Finder},
    types::{slice, subslice},
};

/// Longest entity, in bytes with `&` and `;`: `&#1114111;` and `&#x10FFFF;`.
const MAX_ENTITY_BYTES: usize = 10;

/// The most bytes of decoded text that are given in one piece although they did not stand together.
const JOINED_BYTES: usize = 64;

/// Decodes `&lt;`, `&#233;` and their like.
#[derive(Debug, Default)]
pub(super) struct Entities {
    /// Text that may become an entity: `&` and the bytes behind it; at most [`MAX_ENTITY_BYTES`].
    held: CompactString,
}

impl Entities {
    /// Returns `true` when no text is held that may become an entity.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }

    /// Takes the next piece of text; gives it in few pieces.
    pub(super) fn feed(&mut self, mut text: &str, out: &mut impl FnMut(&str)) {
        let mut joined = Joined { bytes: [0; JOINED_BYTES], length: 0, out };
        let out = &mut |text: &str| joined.push(text);
        while let Some(next) = text.chars().next() {
            if self.held.is_empty() {
                let and = Finder::new([ByteKind::of(b'&')]).find(text.as_bytes());
                let (plain, rest) = text.split_at(and);
                out(plain);
                text = rest;
                if let Some((character, behind)) = predefined(text) {
                    out(character);
                    text = slice(text, behind..);
                    continue;
                }
                if text.is_empty() {
                    break;
                }
                self.held.push('&');
                text = slice(text, 1..);
                let letters = text.bytes().take(MAX_ENTITY_BYTES - 2);
                let name = letters.take_while(|byte| is_entity_byte(*byte)).count();
                self.held.push_str(slice(text, ..name));
                text = slice(text, name..);
                continue;
            }
            if next == ';' {
                self.settle(out);
            } else if u8::try_from(next).is_ok_and(is_entity_byte)
                && self.held.len() + 1 < MAX_ENTITY_BYTES
            {
                self.held.push(next);
            } else {
                self.finish(out);
                continue;
            }
            text = slice(text, 1..);
        }
        joined.flush();
    }

    /// Ends the text: what may have become an entity is text.
    pub(super) fn finish(&mut self, out: &mut impl FnMut(&str)) {
        if !self.held.is_empty() {
            out(&self.held);
            self.held.clear();
        }
    }

    fn settle(&mut self, out: &mut impl FnMut(&str)) {
        let name = slice(&self.held, 1..);
        if let Some(text) = resolve_predefined_entity(name) {
            out(text);
        } else if let Some(character) = number(name) {
            out(character.encode_utf8(&mut [0; 4]));
        } else {
            self.held.push(';');
            out(&self.held);
        }
        self.held.clear();
    }
}

/// Text in few pieces.
struct Joined<'o, O> {
    bytes: [u8; JOINED_BYTES],
    length: usize,
    out: &'o mut O,
}

impl<O: FnMut(&str)> Joined<'_, O> {
    fn push(&mut self, text: &str) {
        if self.length + text.len() > JOINED_BYTES {
            self.flush();
        }
        if let Some(room) = self.bytes.get_mut(self.length..self.length + text.len()) {
            room.copy_from_slice(text.as_bytes());
            self.length += text.len();
        } else {
            (self.out)(text);
        }
    }

    fn flush(&mut self) {
        if self.length > 0 {
            (self.out)(str::from_utf8(subslice(&self.bytes, ..self.length)).unwrap_or_default());
            self.length = 0;
        }
    }
}

/// Returns what the entity at the front of `text` stands for, if it is one of the five that have names,
/// and its length.
fn predefined(text: &str) -> Option<(&'static str, usize)> {
    match text.as_bytes() {
        [b'&', b'l', b't', b';', ..] => Some(("<", 4)),
        [b'&', b'g', b't', b';', ..] => Some((">", 4)),
        [b'&', b'a', b'm', b'p', b';', ..] => Some(("&", 5)),
        [b'&', b'q', b'u', b'o', b't', b';', ..] => Some(("\"", 6)),
        [b'&', b'a', b'p', b'o', b's', b';', ..] => Some(("'", 6)),
        _ => None,
    }
}

fn is_entity_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'#'
}

fn number(name: &str) -> Option<char> {
    let digits = name.strip_prefix('#')?;
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    char::from_u32(code.ok()?).filter(|character| *character != '\0')
}

/// Returns `text` with its entities decoded.
pub(in crate::llm::parser::grammar::tagged) fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut entities = Entities::default();
    entities.feed(text, &mut |piece| decoded.push_str(piece));
    entities.finish(&mut |piece| decoded.push_str(piece));
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_decode_the_same_at_every_split() {
        #[rustfmt::skip]
        let cases = [
            ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
            ("&quot;x&apos;",                "\"x'"),
            ("&#233;&#x1F600;",              "é😀"),
            ("x && y & z",                   "x && y & z"),
            ("&nbsp; &; &#; &#xZZ; &unknownname;", "&nbsp; &; &#; &#xZZ; &unknownname;"),
            ("&am",                          "&am"),
            ("&&lt;é&",                      "&<é&"),
        ];
        for (input, want) in cases {
            for (at, _) in input.char_indices() {
                let (mut entities, mut got) = (Entities::default(), String::new());
                let (head, tail) = input.split_at(at);
                entities.feed(head, &mut |piece| got.push_str(piece));
                entities.feed(tail, &mut |piece| got.push_str(piece));
                entities.finish(&mut |piece| got.push_str(piece));
                assert_eq!(got, want, "{input} split at {at}");
            }
        }
    }
}
