//! Python strings: their text, as the inside of a JSON string.

use super::special::find_special;
use crate::{
    llm::parser::{
        json::{escape_into, escape_of},
        repairs::RepairSet,
    },
    types::Repair,
};

/// Reads one Python string from behind its first quote; gives it without quotes, in JSON's escapes.
#[derive(Debug, Clone, Copy)]
pub(super) struct StringText {
    quote: u8,
    /// Whether it stands in three quotes.
    is_long: bool,
    backslash: Backslash,
    state: State,
    /// The first half of a surrogate pair, until the second comes.
    high: Option<u16>,
}

/// What a backslash in a string is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backslash {
    /// It begins an escape.
    Escapes,
    /// It is itself, in a raw string.
    IsText,
}

/// What was seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first quote.
    First,
    /// The second: the string was empty, or three quotes open it.
    Second,
    Inside,
    /// In three quotes, so many that may close it; at most two.
    Quotes(usize),
    Backslash,
    /// In a raw string: what follows cannot end it.
    RawBackslash,
    /// So many octal digits behind a backslash.
    Octal {
        value: u32,
        count: u8,
    },
    Hex(Hex),
}

/// An escape in hexadecimal digits that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hex {
    letter: u8,
    digits: [u8; 8],
    count: usize,
}

impl Hex {
    /// How many digits make it whole.
    fn wanted(self) -> usize {
        match self.letter {
            b'x' => 2,
            b'u' => 4,
            _ => 8,
        }
    }

    fn text(&self) -> &str {
        std::str::from_utf8(self.digits.get(..self.count).unwrap_or_default()).unwrap_or_default()
    }
}

/// A quote in a JSON string.
fn quote_text(quote: u8) -> &'static str {
    if quote == b'"' { "\\\"" } else { "'" }
}

impl StringText {
    pub(super) fn new(quote: u8, backslash: Backslash) -> Self {
        Self { quote, is_long: false, backslash, state: State::First, high: None }
    }

    /// The text that ends the string, while it is open.
    pub(super) fn ends_at(&self) -> Option<&'static str> {
        match (self.state, self.is_long, self.quote) {
            (State::Second, ..) => None,
            (_, true, b'"') => Some("\"\"\""),
            (_, true, _) => Some("'''"),
            (_, false, b'"') => Some("\""),
            (_, false, _) => Some("'"),
        }
    }

    /// Whether the next byte is the inside of the string, and no escape.
    pub(super) fn is_plain(&self) -> bool {
        self.state == State::Inside && self.high.is_none()
    }

    /// Goes on from `*at`; whether the string ended, with `*at` behind it.
    pub(super) fn feed(
        &mut self,
        text: &str,
        at: &mut usize,
        repairs: &mut RepairSet,
        out: &mut impl FnMut(&str),
    ) -> bool {
        while let Some(&byte) = text.as_bytes().get(*at) {
            let is_quote = byte == self.quote;
            match self.state {
                State::Inside => {
                    if self.inside(text, at, repairs, out) {
                        return true;
                    }
                    continue;
                }
                State::First if is_quote => self.state = State::Second,
                State::Second if is_quote => {
                    self.is_long = true;
                    self.state = State::Inside;
                }
                State::Second => return true,
                State::Quotes(2) if is_quote => {
                    *at += 1;
                    return true;
                }
                State::Quotes(count) if is_quote => self.state = State::Quotes(count + 1),
                State::Quotes(count) => {
                    (0..count).for_each(|_| out(quote_text(self.quote)));
                    self.state = State::Inside;
                    continue;
                }
                State::First => {
                    self.state = State::Inside;
                    continue;
                }
                State::RawBackslash => {
                    self.state = State::Inside;
                    match byte {
                        b'\\' => out("\\\\"),
                        _ if is_quote => out(quote_text(byte)),
                        _ => continue,
                    }
                }
                State::Backslash => {
                    if !self.escape(byte, out) {
                        continue;
                    }
                }
                State::Octal { value, count } => {
                    if count < 3 && matches!(byte, b'0'..=b'7') {
                        let value = value * 8 + u32::from(byte - b'0');
                        self.state = State::Octal { value, count: count + 1 };
                    } else {
                        self.code(value, out);
                        continue;
                    }
                }
                State::Hex(hex) => {
                    if !byte.is_ascii_hexdigit() {
                        self.broken(hex, repairs, out);
                        continue;
                    }
                    self.digit(hex, byte, repairs, out);
                }
            }
            *at += 1;
        }
        false
    }

    /// Passes text on up to the next byte that is not itself, and takes that; whether it ended the
    /// string.
    fn inside(
        &mut self,
        text: &str,
        at: &mut usize,
        repairs: &mut RepairSet,
        out: &mut impl FnMut(&str),
    ) -> bool {
        let rest = text.get(*at..).unwrap_or_default();
        let plain = find_special(rest.as_bytes(), self.quote);
        if plain > 0 {
            self.lone_half(out);
            out(rest.get(..plain).unwrap_or_default());
            *at += plain;
        }
        let Some(&byte) = rest.as_bytes().get(plain) else { return false };
        *at += 1;
        match byte {
            b'\\' if self.backslash == Backslash::IsText => {
                out("\\\\");
                self.state = State::RawBackslash;
            }
            b'\\' => self.state = State::Backslash,
            _ if byte == self.quote => {
                self.lone_half(out);
                if !self.is_long {
                    return true;
                }
                self.state = State::Quotes(1);
            }
            _ => {
                self.lone_half(out);
                if matches!(byte, b'\n' | b'\r') && !self.is_long {
                    repairs.insert(Repair::RawControl);
                }
                out(escape_of(byte));
            }
        }
        false
    }

    /// What follows a backslash; whether `byte` belongs to the escape.
    fn escape(&mut self, byte: u8, out: &mut impl FnMut(&str)) -> bool {
        self.state = State::Inside;
        match byte {
            b'u' => self.state = State::Hex(Hex { letter: byte, digits: [0; 8], count: 0 }),
            b'x' | b'U' => {
                self.lone_half(out);
                self.state = State::Hex(Hex { letter: byte, digits: [0; 8], count: 0 });
            }
            b'0'..=b'7' => {
                self.lone_half(out);
                self.state = State::Octal { value: u32::from(byte - b'0'), count: 1 };
            }
            _ => {
                self.lone_half(out);
                out(match byte {
                    b'n' => "\\n",
                    b't' => "\\t",
                    b'r' => "\\r",
                    b'b' => "\\b",
                    b'f' => "\\f",
                    b'a' => "\\u0007",
                    b'v' => "\\u000b",
                    b'\\' => "\\\\",
                    b'\'' | b'"' => quote_text(byte),
                    // The line goes on.
                    b'\n' => return true,
                    _ => {
                        out("\\\\");
                        return false;
                    }
                });
            }
        }
        true
    }

    fn digit(
        &mut self,
        mut hex: Hex,
        byte: u8,
        repairs: &mut RepairSet,
        out: &mut impl FnMut(&str),
    ) {
        if let Some(digit) = hex.digits.get_mut(hex.count) {
            *digit = byte;
        }
        hex.count += 1;
        self.state = State::Hex(hex);
        if hex.count < hex.wanted() {
            return;
        }
        match u32::from_str_radix(hex.text(), 16) {
            Ok(value) if value <= u32::from(char::MAX) => self.code(value, out),
            Ok(_) | Err(_) => self.broken(hex, repairs, out),
        }
    }

    /// An escape that names no character is text.
    fn broken(&mut self, hex: Hex, repairs: &mut RepairSet, out: &mut impl FnMut(&str)) {
        repairs.insert(Repair::InvalidEscape);
        self.lone_half(out);
        self.state = State::Inside;
        out("\\\\");
        out(char::from(hex.letter).encode_utf8(&mut [0; 4]));
        out(hex.text());
    }

    /// A character by its number; two halves of a surrogate pair are one.
    fn code(&mut self, value: u32, out: &mut impl FnMut(&str)) {
        self.state = State::Inside;
        if let Some(character) = char::from_u32(value) {
            self.lone_half(out);
            return escape_into(character.encode_utf8(&mut [0; 4]), out);
        }
        let half = u16::try_from(value).unwrap_or_default();
        let units = self.high.take().into_iter().chain([half]);
        for decoded in char::decode_utf16(units) {
            match decoded {
                Ok(character) => out(character.encode_utf8(&mut [0; 4])),
                Err(error) if (0xD800..0xDC00).contains(&error.unpaired_surrogate()) => {
                    if self.high.replace(error.unpaired_surrogate()).is_some() {
                        out("\u{FFFD}");
                    }
                }
                Err(_) => out("\u{FFFD}"),
            }
        }
    }

    fn lone_half(&mut self, out: &mut impl FnMut(&str)) {
        if self.high.take().is_some() {
            out("\u{FFFD}");
        }
    }
}
