//! Escapes in a JSON string, taken byte by byte: half of one is never shown.

/// What of an escape has been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// Nothing: plain text follows.
    None,
    /// The first half of a surrogate pair; the second half or anything else follows.
    Half(u16),
    /// A backslash; behind a half, that half.
    Backslash(Option<u16>),
    /// `\u` and so many of its four digits, read as `unit`.
    Digits { half: Option<u16>, unit: u16, count: u8 },
}

impl Escape {
    /// Takes one byte of the escape and appends the character that it completes; gives what may
    /// stand there when this byte may not. A half without its other half is U+FFFD, as everywhere
    /// in this library.
    pub(super) fn take(self, byte: u8, text: &mut String) -> Result<Self, &'static str> {
        match self {
            Self::None => Ok(Self::Backslash(None)),
            Self::Half(half) => Ok(Self::Backslash(Some(half))),
            Self::Backslash(half) if byte == b'u' => Ok(Self::Digits { half, unit: 0, count: 0 }),
            Self::Backslash(half) => {
                let character = simple(byte).ok_or("an escape")?;
                Self::settle(half, text);
                text.push(character);
                Ok(Self::None)
            }
            Self::Digits { half, unit, count } => {
                let digit =
                    char::from(byte).to_digit(16).and_then(|digit| u16::try_from(digit).ok());
                let unit = unit << 4 | digit.ok_or("a hexadecimal digit")?;
                if count < 3 {
                    return Ok(Self::Digits { half, unit, count: count + 1 });
                }
                Ok(Self::unit(half, unit, text))
            }
        }
    }

    /// Plain text or the end of the string follows: a half stays alone.
    pub(super) fn end(self, text: &mut String) {
        if let Self::Half(half) = self {
            Self::settle(Some(half), text);
        }
    }

    fn settle(half: Option<u16>, text: &mut String) {
        if half.is_some() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// Appends the character of a UTF-16 unit, or of a pair.
    fn unit(half: Option<u16>, unit: u16, text: &mut String) -> Self {
        let pair = half.into_iter().chain([unit]);
        let mut last = Self::None;
        let mut characters = char::decode_utf16(pair).peekable();
        while let Some(character) = characters.next() {
            match character {
                Ok(character) => text.push(character),
                Err(alone)
                    if is_high(alone.unpaired_surrogate()) && characters.peek().is_none() =>
                {
                    last = Self::Half(alone.unpaired_surrogate());
                }
                Err(_) => text.push(char::REPLACEMENT_CHARACTER),
            }
        }
        last
    }
}

fn is_high(unit: u16) -> bool {
    (0xD800..0xDC00).contains(&unit)
}

fn simple(letter: u8) -> Option<char> {
    Some(match letter {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}
