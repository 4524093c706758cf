//! The grammar of JSON numbers, byte by byte.

/// The part of a number that has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// The sign.
    Minus,
    /// A leading zero, after which no digit may follow.
    Zero,
    /// A digit before the point.
    Whole,
    /// The point.
    Point,
    /// A digit after the point.
    Fraction,
    /// The letter of the exponent.
    Exponent,
    /// The sign of the exponent.
    ExponentSign,
    /// A digit of the exponent.
    Power,
}

impl Number {
    /// Returns the state after the first byte of a value; `None` if no number begins with this byte.
    #[doc(hidden)]
    pub fn first(byte: u8) -> Option<Self> {
        Some(match byte {
            b'-' => Self::Minus,
            b'0' => Self::Zero,
            b'1'..=b'9' => Self::Whole,
            _ => return None,
        })
    }

    /// Returns the state after one more byte; `None` if the number ends before it.
    #[doc(hidden)]
    pub fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Self::Whole,
            (Self::Zero | Self::Whole, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Self::Exponent,
            (Self::Exponent, b'+' | b'-') => Self::ExponentSign,
            (Self::Exponent | Self::ExponentSign | Self::Power, b'0'..=b'9') => Self::Power,
            _ => return None,
        })
    }

    /// Returns `true` inside a run of digits that any digit can continue.
    #[doc(hidden)]
    pub fn is_digits(self) -> bool {
        matches!(self, Self::Whole | Self::Fraction | Self::Power)
    }

    /// Returns `true` if the number is complete when it ends here.
    #[doc(hidden)]
    pub fn may_end(self) -> bool {
        matches!(self, Self::Zero | Self::Whole | Self::Fraction | Self::Power)
    }
}

/// Returns `true` if `text` is exactly one JSON number.
pub fn is_number(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes.next().and_then(Number::first);
    first.and_then(|first| bytes.try_fold(first, Number::next)).is_some_and(Number::may_end)
}

#[cfg(test)]
mod tests {
    use super::is_number;

    #[test]
    fn numbers_are_what_serde_reads_as_numbers() {
        for text in ["0", "-0", "10", "1.50", "-1.5e+3", "0e0", "1E-07", "12345678901234567890123"]
        {
            assert!(is_number(text), "{text}");
        }
        for text in
            ["", "-", "01", "+1", ".5", "5.", "1e", "1e+", "0x1F", "1_0", " 1", "1 ", "--1", "NaN"]
        {
            assert!(!is_number(text), "{text}");
            assert!(
                serde_json::from_str::<&serde_json::value::RawValue>(text.trim_matches(' '))
                    .is_err()
                    || text.contains(' '),
                "{text}"
            );
        }
    }
}
