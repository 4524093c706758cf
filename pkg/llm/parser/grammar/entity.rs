//! Entities in text that arrives in pieces; an `&` that begins no entity is text.

use compact_str::CompactString;
use quick_xml::escape::resolve_predefined_entity;

use forgeline_json::{BACKSLASH, ByteKind, CONTROL, Finder, QUOTE, escape_into, escape_of, slice};

/// Maximum length of an entity, in bytes including `&` and `;`: `&#1114111;` and `&#x10FFFF;`.
const MAX_ENTITY_BYTES: usize = 10;

/// A decoder of entities such as `&lt;` and `&#233;`.
#[derive(Debug, Default)]
pub(crate) struct EntityDecoder {
    /// Text that may become an entity: `&` and the bytes after it; at most [`MAX_ENTITY_BYTES`].
    held: CompactString,
}

impl EntityDecoder {
    /// Returns `true` if no text is held that may become an entity.
    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }

    /// Decodes text while none is held; emits it as the content of a JSON string.
    pub(crate) fn feed_json(&mut self, mut text: &str, out: &mut impl FnMut(&str)) {
        const STOPS: Finder<4> = Finder::new([BACKSLASH, QUOTE, CONTROL, ByteKind::of(b'&')]);
        loop {
            let stop = STOPS.find(text.as_bytes());
            let (plain, rest) = text.split_at_checked(stop).unwrap_or((text, ""));
            if !plain.is_empty() {
                out(plain);
            }
            text = match (rest.as_bytes().first(), predefined(rest)) {
                (None, _) => return,
                (_, Some((character, length))) => {
                    out(if character == "\"" { "\\\"" } else { character });
                    slice(rest, length..)
                }
                (Some(b'&'), None) => {
                    return self.feed(rest, &mut |text| escape_into(text, out));
                }
                (Some(byte), None) => {
                    out(escape_of(*byte));
                    slice(rest, 1..)
                }
            };
        }
    }

    /// Decodes the next piece of text.
    pub(crate) fn feed(&mut self, mut text: &str, out: &mut impl FnMut(&str)) {
        while !text.is_empty() {
            if self.held.is_empty() {
                let and = Finder::new([ByteKind::of(b'&')]).find(text.as_bytes());
                let (plain, rest) = text.split_at(and);
                if !plain.is_empty() {
                    out(plain);
                }
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
            }
            let letters = text.bytes().take(MAX_ENTITY_BYTES - 1 - self.held.len());
            let name = letters.take_while(|byte| is_entity_byte(*byte)).count();
            self.held.push_str(slice(text, ..name));
            text = slice(text, name..);
            match text.bytes().next() {
                None => break,
                Some(b';') => {
                    self.settle(out);
                    text = slice(text, 1..);
                }
                Some(_) => self.finish(out),
            }
        }
    }

    /// Ends the text: anything that could have become an entity is text.
    pub(crate) fn finish(&mut self, out: &mut impl FnMut(&str)) {
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

/// Returns the meaning of the entity at the beginning of `text`, if it is one of the five predefined ones,
/// and its length.
#[inline]
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
pub(super) fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut entities = EntityDecoder::default();
    entities.feed(text, &mut |piece| decoded.push_str(piece));
    entities.finish(&mut |piece| decoded.push_str(piece));
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_and_escapes_in_one_pass_are_those_of_two() {
        let parts =
            ["a", "é", " && ", "&lt;", "&gt;", "&amp;", "&quot;", "&apos;", "&#65;", "&no;"];
        let parts =
            [parts.as_slice(), &["\"", "\\", "\n", "\t", "plain text of some length ", "&"]];
        let parts = parts.concat();
        let mut random = 3_u64;
        for round in 0..20_000 {
            let text: String = (0..round % 12)
                .map(|_| {
                    random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                    parts[usize::try_from(random >> 33).unwrap() % parts.len()]
                })
                .collect();
            let (mut entities, mut want) = (EntityDecoder::default(), String::new());
            entities.feed(&text, &mut |text| escape_into(text, &mut |json| want.push_str(json)));
            entities.finish(&mut |text| escape_into(text, &mut |json| want.push_str(json)));
            let (mut entities, mut got) = (EntityDecoder::default(), String::new());
            entities.feed_json(&text, &mut |json| got.push_str(json));
            entities.finish(&mut |text| escape_into(text, &mut |json| got.push_str(json)));
            assert_eq!(got, want, "{text:?}");
        }
    }

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
                let (mut entities, mut got) = (EntityDecoder::default(), String::new());
                let (head, tail) = input.split_at(at);
                entities.feed(head, &mut |piece| got.push_str(piece));
                entities.feed(tail, &mut |piece| got.push_str(piece));
                entities.finish(&mut |piece| got.push_str(piece));
                assert_eq!(got, want, "{input} split at {at}");
            }
        }
    }
}
