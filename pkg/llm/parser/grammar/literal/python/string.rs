//! Python strings, written as the content of a JSON string.

use crate::grammar::{arguments::JsonOut, reader::PlainText};
use forgeline_json::subslice;
use forgeline_json::{RepairSet, escape_into, escape_of, find_special, slice};
use forgeline_types::Repair;

/// A reader of one string, from after its first quote.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct StringText {
    quote: u8,
    /// `true` in a string in triple quotes.
    is_long: bool,
    /// `true` in a raw string, in which backslashes are literal.
    is_raw: bool,
    state: StringPhase,
    /// The first half of a surrogate pair, until the second arrives.
    high: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StringPhase {
    /// After the first quote.
    First,
    /// After the second quote: the string was empty, or triple quotes open it.
    Second,
    Inside,
    /// In triple quotes, after at most two quotes that may close it.
    Quotes(usize),
    /// After a quote that is text.
    QuoteText,
    Backslash,
    /// In a raw string, after a backslash: the next byte cannot end it.
    RawBackslash,
    Digits(StringEscape),
}

/// A numeric escape: `\ooo`, `\xhh`, `\uhhhh` or `\Uhhhhhhhh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StringEscape {
    /// `o`, `x`, `u` or `U`.
    letter: u8,
    digits: [u8; 8],
    count: usize,
}

impl StringEscape {
    fn new(letter: u8) -> Self {
        Self { letter, digits: [0; 8], count: 0 }
    }

    fn radix(self) -> u32 {
        if self.letter == b'o' { 8 } else { 16 }
    }

    /// Returns the maximum number of digits; octal escapes may have fewer.
    fn limit(self) -> usize {
        match self.letter {
            b'o' => 3,
            b'x' => 2,
            b'u' => 4,
            _ => 8,
        }
    }

    fn with(mut self, digit: u8) -> Self {
        if let Some(place) = self.digits.get_mut(self.count) {
            *place = digit;
        }
        self.count += 1;
        self
    }

    fn text(&self) -> &str {
        str::from_utf8(subslice(&self.digits, ..self.count)).unwrap_or_default()
    }

    /// Returns the number of the character once all digits have been read.
    fn code(self) -> Option<u32> {
        let is_whole = self.letter == b'o' || self.count == self.limit();
        let code = u32::from_str_radix(self.text(), self.radix()).ok().filter(|_| is_whole);
        code.filter(|code| *code <= u32::from(char::MAX))
    }
}

/// Returns a quote as it is written inside a JSON string.
fn quote_text(quote: u8) -> &'static str {
    if quote == b'"' { "\\\"" } else { "'" }
}

impl StringText {
    pub(super) fn new(quote: u8, is_raw: bool) -> Self {
        Self { quote, is_long: false, is_raw, state: StringPhase::First, high: None }
    }

    /// Returns the text that ends the string, while the string is open.
    pub(super) fn ends_at(&self) -> Option<&'static str> {
        match (self.state, self.is_long, self.quote) {
            (StringPhase::Second, ..) => None,
            (_, true, b'"') => Some("\"\"\""),
            (_, true, _) => Some("'''"),
            (_, false, b'"') => Some("\""),
            (_, false, _) => Some("'"),
        }
    }

    /// Returns the text that passes through the string unchanged.
    pub(super) fn plain(&self) -> PlainText {
        match (self.state, self.high) {
            (StringPhase::Inside, None) if self.is_raw => PlainText::PythonRaw,
            (StringPhase::Inside, None) if self.quote == b'"' => PlainText::QuotedString,
            (StringPhase::Inside, None) => PlainText::PythonString,
            _ => PlainText::Nothing,
        }
    }

    /// Returns `true` for a string whose quote may be intended as text.
    pub(super) fn is_short(&self) -> bool {
        !self.is_long
    }

    /// Continues after a quote that seemed to end the string but is text.
    pub(super) fn go_on(&mut self) {
        self.state = StringPhase::QuoteText;
    }

    /// Continues from `*at`; returns `true` if the string ended, with `*at` after it.
    pub(super) fn feed(
        &mut self,
        text: &str,
        at: &mut usize,
        repairs: &mut RepairSet,
        out: &mut impl JsonOut,
    ) -> bool {
        while let Some(&byte) = text.as_bytes().get(*at) {
            let is_quote = byte == self.quote;
            match self.state {
                StringPhase::Inside => {
                    if self.inside(text, at, repairs, out) {
                        return true;
                    }
                    continue;
                }
                StringPhase::First if is_quote => self.state = StringPhase::Second,
                StringPhase::Second if is_quote => {
                    self.is_long = true;
                    self.state = StringPhase::Inside;
                }
                StringPhase::Second => return true,
                StringPhase::Quotes(2) if is_quote => {
                    *at += 1;
                    return true;
                }
                StringPhase::Quotes(count) if is_quote => {
                    self.state = StringPhase::Quotes(count + 1);
                }
                StringPhase::Quotes(count) => {
                    (0..count).for_each(|_| out(quote_text(self.quote)));
                    self.state = StringPhase::Inside;
                    continue;
                }
                StringPhase::QuoteText => {
                    out(quote_text(self.quote));
                    self.state = StringPhase::Inside;
                    continue;
                }
                StringPhase::First => {
                    self.state = StringPhase::Inside;
                    continue;
                }
                StringPhase::RawBackslash => {
                    self.state = StringPhase::Inside;
                    match byte {
                        b'\\' => out("\\\\"),
                        _ if is_quote => out(quote_text(byte)),
                        _ => continue,
                    }
                }
                StringPhase::Backslash => {
                    if !self.escape(byte, out) {
                        continue;
                    }
                }
                StringPhase::Digits(escape) => {
                    let is_digit = char::from(byte).is_digit(escape.radix());
                    if escape.count == escape.limit() || !is_digit {
                        self.end_escape(escape, repairs, out);
                        continue;
                    }
                    let escape = escape.with(byte);
                    self.state = StringPhase::Digits(escape);
                    if escape.radix() == 16 && escape.count == escape.limit() {
                        self.end_escape(escape, repairs, out);
                    }
                }
            }
            *at += 1;
        }
        false
    }

    /// Emits text up to the next special byte, and reads that byte; returns `true` if it
    /// ended the string.
    fn inside(
        &mut self,
        text: &str,
        at: &mut usize,
        repairs: &mut RepairSet,
        out: &mut impl JsonOut,
    ) -> bool {
        let rest = slice(text, *at..);
        let plain = find_special(rest.as_bytes(), self.quote);
        if plain > 0 {
            self.end_pair(out);
            out(slice(rest, ..plain));
            *at += plain;
        }
        let Some(&byte) = rest.as_bytes().get(plain) else { return false };
        *at += 1;
        if byte == b'\\' {
            if self.is_raw {
                out("\\\\");
            }
            self.state =
                if self.is_raw { StringPhase::RawBackslash } else { StringPhase::Backslash };
            return false;
        }
        self.end_pair(out);
        if byte == self.quote {
            self.state = StringPhase::Quotes(1);
            return !self.is_long;
        }
        if matches!(byte, b'\n' | b'\r') && !self.is_long {
            repairs.insert(Repair::RawControl);
        }
        out(escape_of(byte));
        false
    }

    /// Reads the byte after a backslash; returns `false` if it is not part of the escape.
    fn escape(&mut self, byte: u8, out: &mut impl JsonOut) -> bool {
        self.state = StringPhase::Inside;
        if byte != b'u' {
            self.end_pair(out);
        }
        out(match byte {
            b'u' | b'x' | b'U' => {
                self.state = StringPhase::Digits(StringEscape::new(byte));
                return true;
            }
            b'0'..=b'7' => {
                self.state = StringPhase::Digits(StringEscape::new(b'o').with(byte));
                return true;
            }
            b'n' => "\\n",
            b't' => "\\t",
            b'r' => "\\r",
            b'b' => "\\b",
            b'f' => "\\f",
            b'a' => "\\u0007",
            b'v' => "\\u000b",
            b'\\' => "\\\\",
            b'\'' | b'"' => quote_text(byte),
            // A line continuation.
            b'\n' => return true,
            _ => {
                out("\\\\");
                return false;
            }
        });
        true
    }

    /// Emits the character of an escape; one that does not name a character is text.
    fn end_escape(
        &mut self,
        escape: StringEscape,
        repairs: &mut RepairSet,
        out: &mut impl JsonOut,
    ) {
        self.state = StringPhase::Inside;
        if let Some(code) = escape.code() {
            return self.code(code, out);
        }
        repairs.insert(Repair::InvalidEscape);
        self.end_pair(out);
        out("\\\\");
        out(char::from(escape.letter).encode_utf8(&mut [0; 4]));
        out(escape.text());
    }

    /// Emits a character by its number; the two halves of a surrogate pair are combined.
    fn code(&mut self, code: u32, out: &mut impl JsonOut) {
        if let Some(character) = char::from_u32(code) {
            self.end_pair(out);
            return escape_into(character.encode_utf8(&mut [0; 4]), out);
        }
        let half = u16::try_from(code).unwrap_or_default();
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

    /// Emits the first half of a surrogate pair whose second half is missing.
    fn end_pair(&mut self, out: &mut impl JsonOut) {
        if self.high.take().is_some() {
            out("\u{FFFD}");
        }
    }
}
