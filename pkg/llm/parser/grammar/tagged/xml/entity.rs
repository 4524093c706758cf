//! Entities in text that arrives in pieces; an `&` that starts none is text.

use compact_str::CompactString;
use quick_xml::escape::resolve_predefined_entity;

use crate::types::slice;

/// Longest entity, in bytes with `&` and `;`: `&#1114111;` and `&#x10FFFF;`.
const MAX_ENTITY_BYTES: usize = 10;

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

    /// Returns `true` when no entity may go on behind `text`.
    pub(super) fn are_whole(text: &str) -> bool {
        let last = memchr::memrchr(b'&', text.as_bytes());
        let rest = last.map_or("", |at| slice(text, at + 1..));
        last.is_none() || rest.len() >= MAX_ENTITY_BYTES || !rest.bytes().all(is_entity_byte)
    }

    /// Takes the next piece of text.
    pub(super) fn feed(&mut self, mut text: &str, out: &mut impl FnMut(&str)) {
        while let Some(next) = text.chars().next() {
            if self.held.is_empty() {
                let plain = memchr::memchr(b'&', text.as_bytes()).unwrap_or(text.len());
                if plain > 0 {
                    out(slice(text, ..plain));
                    text = slice(text, plain..);
                    continue;
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
