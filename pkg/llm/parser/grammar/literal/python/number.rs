//! Python numbers, as JSON numbers.

use compact_str::{CompactString, format_compact};

/// What was seen of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    /// A sign.
    Sign,
    /// `0`, withheld: it may begin another radix.
    Zero,
    /// Digits before the point.
    Whole,
    /// A point with no digit before it.
    LeadingPoint,
    /// Digits, then the point.
    Point,
    /// Digits behind the point.
    Fraction,
    /// `e`.
    Exponent,
    /// `e` and a sign.
    ExponentSign,
    /// Digits behind `e`.
    Power,
    /// An underscore behind one of the three kinds of digits.
    Underscore(Digits),
    /// `0x`, `0o` or `0b`, or an underscore behind digits of theirs; a digit must follow.
    RadixStart { radix: u32, value: u128 },
    /// Digits of that radix.
    Radix { radix: u32, value: u128 },
    /// More than 128 bits of them.
    TooLarge,
}

/// Where digits stand in a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Digits {
    Whole,
    Fraction,
    Power,
}

impl Number {
    /// Begins a number with `byte`; `None` when it begins none.
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

    /// Takes digits, and whatever belongs to a number; whether it ended, with `*at` behind it.
    pub(super) fn feed(&mut self, text: &str, at: &mut usize, out: &mut impl FnMut(&str)) -> bool {
        while let Some(&byte) = text.as_bytes().get(*at) {
            let rest = text.get(*at..).unwrap_or_default();
            let is_run = matches!(self, Self::Whole | Self::Fraction | Self::Power);
            let run = if is_run { rest.bytes().take_while(u8::is_ascii_digit).count() } else { 0 };
            if run > 0 {
                out(rest.get(..run).unwrap_or_default());
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

    /// Where one more byte leads; `None` when the number ends before it.
    fn next(self, byte: u8, out: &mut impl FnMut(&str)) -> Option<Self> {
        let digit = |next, out: &mut dyn FnMut(&str)| {
            out(char::from(byte).encode_utf8(&mut [0; 4]));
            Some(next)
        };
        match (self, byte) {
            (Self::Sign, b'0') => Some(Self::Zero),
            (Self::Sign, b'1'..=b'9') => digit(Self::Whole, out),
            (Self::Sign, b'.') => {
                out("0.");
                Some(Self::LeadingPoint)
            }
            (Self::Zero, b'x' | b'X') => Some(Self::RadixStart { radix: 16, value: 0 }),
            (Self::Zero, b'o' | b'O') => Some(Self::RadixStart { radix: 8, value: 0 }),
            (Self::Zero, b'b' | b'B') => Some(Self::RadixStart { radix: 2, value: 0 }),
            (Self::Zero, b'.') => {
                out("0.");
                Some(Self::Point)
            }
            (Self::Zero, b'e' | b'E') => {
                out("0e");
                Some(Self::Exponent)
            }
            (Self::Whole, b'.') => digit(Self::Point, out),
            (Self::Point, b'e' | b'E') => {
                out("0e");
                Some(Self::Exponent)
            }
            (Self::Whole | Self::Fraction, b'e' | b'E') => digit(Self::Exponent, out),
            (Self::LeadingPoint | Self::Point, b'0'..=b'9') => digit(Self::Fraction, out),
            (Self::Exponent, b'+' | b'-') => digit(Self::ExponentSign, out),
            (Self::Exponent | Self::ExponentSign, b'0'..=b'9') => digit(Self::Power, out),
            (Self::Whole, b'_') => Some(Self::Underscore(Digits::Whole)),
            (Self::Fraction, b'_') => Some(Self::Underscore(Digits::Fraction)),
            (Self::Power, b'_') => Some(Self::Underscore(Digits::Power)),
            (Self::Underscore(digits), b'0'..=b'9') => digit(
                match digits {
                    Digits::Whole => Self::Whole,
                    Digits::Fraction => Self::Fraction,
                    Digits::Power => Self::Power,
                },
                out,
            ),
            (Self::RadixStart { radix, value } | Self::Radix { radix, value }, _)
                if char::from(byte).is_digit(radix) =>
            {
                let digit = char::from(byte).to_digit(radix).unwrap_or_default();
                let value = value
                    .checked_mul(u128::from(radix))
                    .and_then(|value| value.checked_add(u128::from(digit)));
                Some(value.map_or(Self::TooLarge, |value| Self::Radix { radix, value }))
            }
            (Self::Radix { radix, value }, b'_') => Some(Self::RadixStart { radix, value }),
            _ => None,
        }
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
            _ if !is_clean => return Err("this is no Python number"),
            Self::Zero | Self::Point => out("0"),
            Self::Whole | Self::Fraction | Self::Power => {}
            Self::Radix { value, .. } => {
                let value: CompactString = format_compact!("{value}");
                out(&value);
            }
            Self::TooLarge => return Err("a hexadecimal number has more than 128 bits"),
            Self::Sign
            | Self::LeadingPoint
            | Self::Exponent
            | Self::ExponentSign
            | Self::Underscore(_)
            | Self::RadixStart { .. } => return Err("this is no Python number"),
        }
        Ok(())
    }
}
