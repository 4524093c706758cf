//! Strings tracked from their inside to the text that shows how they ended.

/// A string from its inside up to the first byte after it that is not whitespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenString {
    quote: &'static str,
    place: StringPosition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StringPosition {
    /// Inside, after this number of bytes of the closing quote.
    Inside(usize),
    /// After a backslash.
    Escape,
    /// After the string.
    Behind,
}

impl OpenString {
    /// Creates the rest of a string that is ended by `quote`.
    pub(crate) const fn new(quote: &'static str) -> Self {
        Self { quote, place: StringPosition::Inside(0) }
    }

    /// Returns the quote.
    pub(crate) const fn quote(self) -> &'static str {
        self.quote
    }

    /// Returns `true` if only the byte after the string is still missing.
    pub(crate) fn has_ended(self) -> bool {
        self.place == StringPosition::Behind
    }

    /// Returns the number of bytes at the beginning of `text` that only continue the string.
    pub(crate) fn plain_bytes(self, text: &str) -> usize {
        let quote = self.quote.bytes().next().unwrap_or(b'\\');
        match self.place {
            StringPosition::Inside(0) => {
                memchr::memchr2(quote, b'\\', text.as_bytes()).unwrap_or(text.len())
            }
            StringPosition::Inside(_) | StringPosition::Escape | StringPosition::Behind => 0,
        }
    }

    /// Reads the next character; once it decides, returns `true` for a string that ended as one
    /// inside a value does (R7), and `false` for one that is broken.
    pub(crate) fn push(&mut self, next: char) -> Option<bool> {
        self.place = match (self.place, next) {
            (StringPosition::Inside(_), '\\') if self.quote.len() == 1 => StringPosition::Escape,
            (StringPosition::Inside(matched), _) => {
                let goes_on = self.quote.get(matched..).is_some_and(|rest| rest.starts_with(next));
                let matched =
                    if goes_on { matched + 1 } else { usize::from(self.quote.starts_with(next)) };
                if matched == self.quote.len() {
                    StringPosition::Behind
                } else {
                    StringPosition::Inside(matched)
                }
            }
            (StringPosition::Escape, _) => StringPosition::Inside(0),
            (StringPosition::Behind, ' ' | '\t' | '\n' | '\r') => StringPosition::Behind,
            (StringPosition::Behind, _) => {
                return Some(matches!(next, ',' | ':' | '}' | ']' | ')'));
            }
        };
        None
    }
}
