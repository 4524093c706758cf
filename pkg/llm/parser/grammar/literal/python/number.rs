//! Python numbers, written as JSON numbers.

use compact_str::format_compact;

use crate::grammar::arguments::JsonOut;
use forgeline_json::{Number as Digits, slice};

/// The part of a number that has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberPhase {
    /// A sign.
    Sign,
    /// `0`, withheld: it may begin another radix.
    Zero,
    /// `0`, withheld if the schema requires a string: digits after it make one.
    ZeroOfText,
    /// A string that consists of digits.
    Text,
    /// A point without a digit before it.
    LeadingPoint,
    /// A part of a JSON number.
    Decimal(Digits),
    /// An underscore after such digits.
    Underscore(Digits),
    /// `0x`, `0o` or `0b`, or an underscore after digits of that radix; a digit must follow.
    RadixStart { radix: u32, value: u128 },
    /// Digits in that radix.
    Radix { radix: u32, value: u128 },
    /// More than 128 bits of digits.
    TooLarge,
}

impl NumberPhase {
    /// Begins a number with `byte`; returns `None` if no number begins with it. Zeros before other
    /// digits are dropped, unless the schema requires a string.
    pub(super) fn new(byte: u8, wants_text: bool, out: &mut impl JsonOut) -> Option<Self> {
        match byte {
            b'0' if wants_text => Some(Self::ZeroOfText),
            b'-' => {
                out("-");
                Some(Self::Sign)
            }
            b'+' => Some(Self::Sign),
            _ => Self::Sign.next(byte, out),
        }
    }

    /// Continues from `*at`; returns `true` if the number ended, with `*at` after it.
    pub(super) fn feed(&mut self, text: &str, at: &mut usize, out: &mut impl JsonOut) -> bool {
        while let Some(&byte) = text.as_bytes().get(*at) {
            let rest = slice(text, *at..);
            let is_run = matches!(self, Self::Decimal(digits) if digits.is_digits());
            let run = if is_run { rest.bytes().take_while(u8::is_ascii_digit).count() } else { 0 };
            if run > 0 {
                out(slice(rest, ..run));
                *at += run;
                continue;
            }
            match self.next(byte, out) {
                Some(next) => *self = next,
                None => return true,
            }
            *at += 1;
        }
        false
    }

    /// Returns the number with one more byte; `None` if it ends before that byte.
    fn next(self, byte: u8, out: &mut impl JsonOut) -> Option<Self> {
        let mut emit = |before: &str, byte: u8, digits: Digits| {
            if !before.is_empty() {
                out(before);
            }
            out(char::from(byte).encode_utf8(&mut [0; 4]));
            Some(Self::Decimal(digits))
        };
        match (self, byte) {
            (Self::Sign, b'0') => Some(Self::Zero),
            (Self::Sign, b'1'..=b'9') => emit("", byte, Digits::Whole),
            (Self::Sign, b'.') => {
                out("0.");
                Some(Self::LeadingPoint)
            }
            (Self::LeadingPoint, b'0'..=b'9') => emit("", byte, Digits::Fraction),
            (Self::ZeroOfText, b'0'..=b'9') => {
                out("\"0");
                Self::Text.next(byte, out)
            }
            (Self::ZeroOfText, _) => Self::Zero.next(byte, out),
            (Self::Text, b'0'..=b'9') => {
                out(char::from(byte).encode_utf8(&mut [0; 4]));
                Some(Self::Text)
            }
            (Self::Zero, b'0') => Some(Self::Zero),
            (Self::Zero, b'1'..=b'9') => emit("", byte, Digits::Whole),
            (Self::Zero, b'x' | b'X') => Some(Self::RadixStart { radix: 16, value: 0 }),
            (Self::Zero, b'o' | b'O') => Some(Self::RadixStart { radix: 8, value: 0 }),
            (Self::Zero, b'b' | b'B') => Some(Self::RadixStart { radix: 2, value: 0 }),
            (Self::Zero, _) => emit("0", byte.to_ascii_lowercase(), Digits::Zero.next(byte)?),
            (Self::Decimal(Digits::Point), b'e' | b'E') => emit("0", b'e', Digits::Exponent),
            (Self::Decimal(digits), b'_') if digits.is_digits() => Some(Self::Underscore(digits)),
            (Self::Decimal(digits), _) => emit("", byte, digits.next(byte)?),
            (Self::Underscore(digits), b'0'..=b'9') => emit("", byte, digits),
            (Self::Radix { radix, value }, b'_') => Some(Self::RadixStart { radix, value }),
            (Self::RadixStart { radix, value } | Self::Radix { radix, value }, _) => {
                let digit = char::from(byte).to_digit(radix)?;
                let value = value.checked_mul(u128::from(radix));
                let value = value.and_then(|value| value.checked_add(u128::from(digit)));
                Some(value.map_or(Self::TooLarge, |value| Self::Radix { radix, value }))
            }
            _ => None,
        }
    }

    /// Ends the number before `byte`.
    pub(super) fn end(self, byte: Option<u8>, out: &mut impl JsonOut) -> Result<(), &'static str> {
        let is_clean = byte.is_none_or(|byte| {
            !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'.' | 0x80..)
        });
        match (self, is_clean) {
            (Self::Zero | Self::ZeroOfText | Self::Decimal(Digits::Point), true) => out("0"),
            (Self::Text, true) => out("\""),
            (Self::Decimal(digits), true) if digits.may_end() => {}
            (Self::Radix { value, .. }, true) => out(&format_compact!("{value}")),
            (Self::TooLarge, true) => return Err("a hexadecimal number has more than 128 bits"),
            _ => return Err("invalid Python number"),
        }
        Ok(())
    }
}
