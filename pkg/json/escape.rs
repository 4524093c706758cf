//! Escapes in JSON strings, in both directions.

use super::{
    find::{Finder, Kind},
    slice, subslice,
};

/// The backslash, which begins an escape.
pub const BACKSLASH: Kind = Kind::of(b'\\');
/// The quote, which ends a string.
pub const QUOTE: Kind = Kind::of(b'"');
/// The control characters, which must be escaped.
pub const CONTROL: Kind = Kind::new(0xE0, 0);

/// Returns the index of the first byte that ends a JSON string, starts an escape or must be
/// escaped (`quote`, `"`, a backslash, a control character), or the length.
#[inline]
pub fn find_special(bytes: &[u8], quote: u8) -> usize {
    match quote {
        b'"' => Finder::new([BACKSLASH, QUOTE, CONTROL]).find(bytes),
        _ => Finder::new([BACKSLASH, QUOTE, CONTROL, Kind::of(quote)]).find(bytes),
    }
}

/// Returns `true` if all bytes in `text` that `stops` finds, which must include backslashes, belong to complete escapes that
/// `is_escape` allows.
#[inline(always)]
pub fn has_only_escapes<const N: usize>(
    mut text: &[u8],
    stops: Finder<N>,
    is_escape: impl Fn(u8) -> bool,
) -> bool {
    loop {
        text = match subslice(text, stops.find(text)..) {
            [] => return true,
            [b'\\', letter, rest @ ..] if is_escape(*letter) => rest,
            _ => return false,
        }
    }
}

/// Returns `true` if this byte after a backslash is an escape of one letter.
#[inline]
pub fn is_simple_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
}

/// Returns the escape of a control character, `"` or backslash.
pub fn escape_of(byte: u8) -> &'static str {
    const ESCAPES: [&str; 32] = [
        "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007",
        "\\b", "\\t", "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011",
        "\\u0012", "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019",
        "\\u001a", "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
    ];
    match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        _ => ESCAPES.get(usize::from(byte)).copied().unwrap_or_default(),
    }
}

/// Writes `text` as the content of a JSON string, in pieces.
#[inline]
pub fn escape_into(text: &str, out: &mut impl FnMut(&str)) {
    const STOPS: Finder<3> = Finder::new([BACKSLASH, QUOTE, CONTROL]);
    let (bytes, mut from) = (text.as_bytes(), 0);
    while from < bytes.len() {
        let at = from + STOPS.find(subslice(bytes, from..));
        if at > from {
            out(slice(text, from..at));
        }
        if let Some(byte) = bytes.get(at) {
            out(escape_of(*byte));
        }
        from = at + 1;
    }
}

/// A decoder of the strict JSON text of strings, in pieces; quotes are skipped.
///
/// An incomplete escape or surrogate pair is withheld; a lone surrogate becomes U+FFFD.
#[derive(Debug, Clone, Default)]
pub struct Unescape {
    state: EscapePhase,
    /// The first half of a surrogate pair, until the second arrives.
    high: Option<u16>,
}

#[derive(Debug, Default, Clone, Copy)]
enum EscapePhase {
    #[default]
    Plain,
    Backslash,
    Unicode {
        unit: u16,
        count: u8,
    },
}

impl Unescape {
    /// Decodes the next piece of the string's JSON text.
    #[doc(hidden)]
    pub fn feed(&mut self, mut json: &str, out: &mut impl FnMut(&str)) {
        while let Some(first) = json.chars().next() {
            let mut taken = first.len_utf8();
            match (self.state, first) {
                (EscapePhase::Plain, '\\') => self.state = EscapePhase::Backslash,
                (EscapePhase::Plain, _) => {
                    self.end_pair(out);
                    let plain = memchr::memchr2(b'"', b'\\', json.as_bytes()).unwrap_or(json.len());
                    if plain > 0 {
                        out(slice(json, ..plain));
                        taken = plain;
                    }
                }
                (EscapePhase::Backslash, 'u') => {
                    self.state = EscapePhase::Unicode { unit: 0, count: 0 }
                }
                (EscapePhase::Backslash, letter) => {
                    self.state = EscapePhase::Plain;
                    self.end_pair(out);
                    out(simple(letter));
                }
                (EscapePhase::Unicode { unit, count }, digit) => {
                    let digit = digit.to_digit(16).unwrap_or_default();
                    let unit = unit << 4 | u16::try_from(digit).unwrap_or_default();
                    self.state = EscapePhase::Unicode { unit, count: count + 1 };
                    if count == 3 {
                        self.state = EscapePhase::Plain;
                        self.unit(unit, out);
                    }
                }
            }
            json = slice(json, taken..);
        }
    }

    /// Emits the character of a UTF-16 unit, or of a pair; withholds the first half of a pair.
    fn unit(&mut self, unit: u16, out: &mut impl FnMut(&str)) {
        let units = self.high.take().into_iter().chain([unit]);
        let mut decoded = char::decode_utf16(units).peekable();
        while let Some(character) = decoded.next() {
            let lone = match character {
                Ok(character) => {
                    out(character.encode_utf8(&mut [0; 4]));
                    continue;
                }
                Err(error) => error.unpaired_surrogate(),
            };
            if (0xD800..0xDC00).contains(&lone) && decoded.peek().is_none() {
                self.high = Some(lone);
            } else {
                out("\u{FFFD}");
            }
        }
    }

    /// Emits the replacement for the first half of a pair whose second half does not follow.
    fn end_pair(&mut self, out: &mut impl FnMut(&str)) {
        if self.high.take().is_some() {
            out("\u{FFFD}");
        }
    }
}

/// Returns the character for an escape with this letter.
fn simple(letter: char) -> &'static str {
    match letter {
        'n' => "\n",
        't' => "\t",
        'r' => "\r",
        'b' => "\u{8}",
        'f' => "\u{c}",
        '/' => "/",
        '\\' => "\\",
        _ => "\"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unescaped<'t>(pieces: impl IntoIterator<Item = &'t str>) -> String {
        let (mut unescape, mut text) = (Unescape::default(), String::new());
        for piece in pieces {
            unescape.feed(piece, &mut |piece| text.push_str(piece));
        }
        text
    }

    #[test]
    fn every_string_decodes_as_serde_does_at_every_split() {
        let texts = [r#""a\nb""#, r#""\u00e9\ud83d\ude00\\ \"x\" \/""#, r#""日本\t""#, r#""""#];
        for text in texts {
            let want: String = serde_json::from_str(text).unwrap();
            for (at, _) in text.char_indices() {
                let (head, tail) = text.split_at(at);
                assert_eq!(unescaped([head, tail]), want, "{text} split at {at}");
            }
        }
        assert_eq!(unescaped([r#""\ud83dx\udc00""#]), "\u{FFFD}x\u{FFFD}");
    }

    #[test]
    fn escapes_are_told_from_other_text_as_byte_by_byte() {
        const STOPS: Finder<4> = Finder::new([BACKSLASH, QUOTE, CONTROL, Kind::of(b'<')]);
        let oracle = |mut text: &[u8]| loop {
            match text {
                [] => return true,
                [b'\\', letter, rest @ ..] if is_simple_escape(*letter) => text = rest,
                [b'\\' | b'"' | b'<' | 0..0x20, ..] => return false,
                [_, rest @ ..] => text = rest,
            }
        };
        let mut random = 7_u64;
        let mut passed = 0;
        for round in 0..200_000_usize {
            let text: Vec<_> = (0..round % 90)
                .map(|_| {
                    random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                    // Mostly whole escapes, so that long texts pass too.
                    match random >> 57 {
                        0..=24 => br"\\".as_slice(),
                        25..=50 => br"\n",
                        51..=70 => br#"\""#,
                        71 => b"\"",
                        72 => b"<",
                        73 => b"\\",
                        74 => b"\n",
                        _ => b"a",
                    }
                })
                .collect();
            let text = text.concat();
            let is_right = has_only_escapes(&text, STOPS, is_simple_escape) == oracle(&text);
            assert!(is_right, "{:?}", str::from_utf8(&text));
            passed += usize::from(oracle(&text) && text.len() > 32);
        }
        assert!(passed > 1_000, "{passed} long texts passed");
    }

    #[test]
    fn every_character_survives_both_directions() {
        for character in (0..0x250).chain(0x2020..0x2030).filter_map(char::from_u32) {
            let text = format!("a{character}b");
            let mut escaped = String::new();
            escape_into(&text, &mut |piece| escaped.push_str(piece));
            let json = format!("\"{escaped}\"");
            assert_eq!(serde_json::from_str::<String>(&json).ok().as_ref(), Some(&text));
            assert_eq!(unescaped([json.as_str()]), text);
        }
    }
}
