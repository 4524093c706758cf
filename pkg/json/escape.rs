//! Escapes in JSON strings, in both directions.

use super::{
    find::{BLOCK, Finder, Halves, Kind, last_block},
    slice,
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

const BACKSLASHES: Finder<1> = Finder::new([BACKSLASH]);

/// The most common letters of escapes.
const USUAL: Finder<2> = Finder::new([Kind::of(b'n'), QUOTE]);

/// Returns the same as [`has_only_escapes`] for one block, without calling other functions.
#[inline(always)]
pub fn has_only_escapes_in_block<const N: usize>(
    block: &[u8; BLOCK],
    stops: Finder<N>,
    is_escape: impl Fn(u8) -> bool,
) -> bool {
    let masks = EscapeMasks {
        found: stops.found(*block).into(),
        backslashes: BACKSLASHES.found(*block).into(),
        usual: USUAL.found(*block).into(),
    };
    let mut escapes = EscapeTable::default();
    escapes.pass(block, masks, is_escape) && !escapes.are_cut()
}

/// Returns `true` if all bytes in `text` that `stops` finds, which must include backslashes, belong to complete escapes that
/// `is_escape` allows; it must allow `n` and `"`.
#[inline(always)]
pub fn has_only_escapes<const N: usize>(
    text: &[u8],
    stops: Finder<N>,
    is_escape: impl Fn(u8) -> bool,
) -> bool {
    let mut escapes = EscapeTable::default();
    if let Some(halves) = Halves::of(text) {
        let found = stops.found_in_halves(halves);
        return found == 0 || {
            let backslashes = BACKSLASHES.found_in_halves(halves);
            let masks = EscapeMasks { found, backslashes, usual: USUAL.found_in_halves(halves) };
            escapes.pass(text, masks, is_escape) && !escapes.are_cut()
        };
    }
    let (wide, rest) = text.as_chunks();
    let (blocks, tail) = rest.as_chunks();
    wide.iter().all(|wide| {
        let found = stops.found_in_wide(wide);
        found == 0 && !escapes.are_cut() || {
            let backslashes = BACKSLASHES.found_in_wide(wide);
            let masks = EscapeMasks { found, backslashes, usual: USUAL.found_in_wide(wide) };
            escapes.pass(wide, masks, &is_escape)
        }
    }) && blocks.iter().all(|block| {
        let found = stops.found(*block).into();
        found == 0 && !escapes.are_cut() || {
            let backslashes = BACKSLASHES.found(*block).into();
            let masks = EscapeMasks { found, backslashes, usual: USUAL.found(*block).into() };
            escapes.pass(block, masks, &is_escape)
        }
    }) && (tail.is_empty() || {
        let (block, before, length) = last_block(text, tail);
        let bits = |found: u32| u64::from(found >> before & !(u32::MAX << length));
        let masks = EscapeMasks {
            found: bits(stops.found(block)),
            backslashes: bits(BACKSLASHES.found(block)),
            usual: bits(USUAL.found(block)),
        };
        escapes.pass(tail, masks, &is_escape)
    }) && !escapes.are_cut()
}

/// The bytes in a text that are relevant to escapes, as one bit each.
#[derive(Debug, Clone, Copy)]
struct EscapeMasks {
    /// All bytes that must not appear unescaped.
    found: u64,
    backslashes: u64,
    /// Letters that form an escape after a backslash.
    usual: u64,
}

/// The state of escapes in text that is read block by block.
#[derive(Debug, Clone, Copy, Default)]
struct EscapeTable {
    /// 1 if the last byte was the backslash of an escape.
    carry: u64,
}

impl EscapeTable {
    #[inline(always)]
    fn are_cut(self) -> bool {
        self.carry != 0
    }

    /// Processes up to one wide block of `bytes`; returns `false` if it contains anything relevant besides escapes.
    #[inline(always)]
    fn pass(&mut self, bytes: &[u8], masks: EscapeMasks, is_escape: impl Fn(u8) -> bool) -> bool {
        /// Every second bit: a run of backslashes begins at one of them or between two.
        const SECOND: u64 = 0xAAAA_AAAA_AAAA_AAAA;
        let EscapeMasks { found, backslashes, usual } = masks;
        // The difference carries through each run of backslashes up to the byte escaped by its last one.
        let starts = backslashes & !self.carry;
        let ends = (starts << 1 | SECOND).wrapping_sub(starts) ^ SECOND;
        let (escapes, letters) = (ends & backslashes, ends ^ (backslashes | self.carry));
        self.carry = escapes >> (bytes.len() - 1) & 1;
        let mut others = letters & !usual;
        while others != 0 {
            let at = others.trailing_zeros() as usize;
            if bytes.get(at).is_some_and(|letter| !is_escape(*letter)) {
                return false;
            }
            others &= others - 1;
        }
        found & !(escapes | letters) == 0
    }
}

/// Returns `true` if this byte after a backslash is an escape of one letter.
#[inline]
pub fn is_simple_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
}

/// Returns the escape that consists of a backslash and this letter.
pub fn simple_escape(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'"' => "\\\"",
        b'\\' => r"\\",
        b'/' => r"\/",
        b'b' => r"\b",
        b'f' => r"\f",
        b'n' => r"\n",
        b'r' => r"\r",
        b't' => r"\t",
        _ => return None,
    })
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
    STOPS.each(bytes, &mut |at| {
        if at > from {
            out(slice(text, from..at));
        }
        out(bytes.get(at).map_or("", |byte| escape_of(*byte)));
        from = at + 1;
        true
    });
    if from < bytes.len() {
        out(slice(text, from..));
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
        let (mut passed, mut blocks) = (0, 0);
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
            if let Some(block) = text.first_chunk() {
                let has_only = has_only_escapes_in_block(block, STOPS, is_simple_escape);
                assert_eq!(has_only, oracle(block), "{:?}", str::from_utf8(block));
                blocks += usize::from(has_only);
            }
            passed += usize::from(oracle(&text) && text.len() > 2 * BLOCK);
        }
        assert!(passed > 1_000, "{passed} long texts passed");
        assert!(blocks > 1_000, "{blocks} blocks passed");
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
