//! Python numbers, as JSON numbers.

use compact_str::{CompactString, format_compact};

use crate::{json, types::slice};

/// What was seen of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    /// A sign.
    Sign,
    /// `0`, withheld: it may begin another radix.
    Zero,
    /// A point without a digit before it.
    LeadingPoint,
    /// Digits, a point or an exponent, as JSON has them.
    Decimal(json::Number),
    /// An underscore behind digits.
    Underscore(json::Number),
    /// `0x`, `0o` or `0b`, or an underscore behind digits of theirs; a digit must follow.
    RadixStart { radix: u32, value: u128 },
    /// Digits of that radix.
    Radix { radix: u32, value: u128 },
    /// More than 128 bits of them.
    TooLarge,
}

impl Number {
    /// Begins a number with `byte`; returns `None` if no number begins with it.
    pub(super) fn new(byte: u8, out: &mut impl FnMut(&str)) -> Option<Self> {
        Some(match byte {
            b'-' => {
                out("-");
                Self::Sign
            }
            b'+' => Self::Sign,
            b'.' | b'0'..=b'9' => return Self::Sign.next(byte, out),
            _ => return None,
        })
    }

    /// Takes digits, and whatever belongs to a number; returns `true` if it ended, with `*at` behind it.
    pub(super) fn feed(&mut self, text: &str, at: &mut usize, out: &mut impl FnMut(&str)) -> bool {
        while let Some(&byte) = text.as_bytes().get(*at) {
            let rest = slice(text, *at..);
            let is_run = matches!(self, Self::Decimal(number) if number.is_digits());
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

    /// Returns the state after one more byte; `None` if the number ends before it.
    fn next(self, byte: u8, out: &mut impl FnMut(&str)) -> Option<Self> {
        use json::Number as Decimal;
        let next = match (self, byte) {
            (Self::Sign, b'0') => return Some(Self::Zero),
            (Self::Sign, _) if byte != b'.' => Decimal::first(byte).filter(|_| byte != b'-')?,
            (Self::Sign, _) => {
                out("0.");
                return Some(Self::LeadingPoint);
            }
            (Self::Zero, b'x' | b'X') => return Some(Self::RadixStart { radix: 16, value: 0 }),
            (Self::Zero, b'o' | b'O') => return Some(Self::RadixStart { radix: 8, value: 0 }),
            (Self::Zero, b'b' | b'B') => return Some(Self::RadixStart { radix: 2, value: 0 }),
            (Self::Zero, b'.' | b'e' | b'E') => {
                out("0");
                Decimal::Zero.next(byte)?
            }
            (Self::LeadingPoint, b'0'..=b'9') => Decimal::Fraction,
            // JSON wants a digit behind the point.
            (Self::Decimal(Decimal::Point), b'e' | b'E') => {
                out("0");
                Decimal::Exponent
            }
            (Self::Decimal(number), b'_') if number.is_digits() => {
                return Some(Self::Underscore(number));
            }
            (Self::Decimal(number), _) => number.next(byte)?,
            (Self::Underscore(number), b'0'..=b'9') => number,
            (Self::RadixStart { radix, value } | Self::Radix { radix, value }, _)
                if char::from(byte).is_digit(radix) =>
            {
                let digit = char::from(byte).to_digit(radix).unwrap_or_default();
                let value = value
                    .checked_mul(u128::from(radix))
                    .and_then(|value| value.checked_add(u128::from(digit)));
                return Some(value.map_or(Self::TooLarge, |value| Self::Radix { radix, value }));
            }
            (Self::Radix { radix, value }, b'_') => return Some(Self::RadixStart { radix, value }),
            _ => return None,
        };
        out(char::from(byte).encode_utf8(&mut [0; 4]));
        Some(Self::Decimal(next))
    }

    /// Ends the number before `byte`.
    pub(super) fn end(
        self,
        byte: Option<u8>,
        out: &mut impl FnMut(&str),
    ) -> Result<(), &'static str> {
        let is_clean = byte.is_none_or(|byte| {
            !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'.' | 0x80..)
        });
        match self {
            _ if !is_clean => return Err("invalid Python number"),
            Self::Zero | Self::Decimal(json::Number::Point) => out("0"),
            Self::Decimal(number) if number.may_end() => {}
            Self::Radix { value, .. } => {
                let value: CompactString = format_compact!("{value}");
                out(&value);
            }
            Self::TooLarge => return Err("a hexadecimal number has more than 128 bits"),
            Self::Sign
            | Self::LeadingPoint
            | Self::Decimal(_)
            | Self::Underscore(_)
            | Self::RadixStart { .. } => return Err("invalid Python number"),
        }
        Ok(())
    }
}
