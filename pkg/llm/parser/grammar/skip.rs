//! Recovery after an element of a list that cannot be read, by skipping to the next one.

/// A search for the end of a bad element: brackets count, except in strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementSkip {
    /// The number of open brackets, including that of the list.
    depth: u32,
    /// The quotes that delimit strings.
    quotes: &'static [u8],
    /// The byte that begins an element even if a comma is missing.
    opener: Option<u8>,
    /// The quote of the current string, and whether its next byte is escaped.
    string: Option<(u8, bool)>,
    /// `true` if a comma of the list was read last.
    is_behind_comma: bool,
}

/// The end of a bad element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkipEnd {
    /// The next element begins here.
    Element,
    /// The list ended before this byte.
    List,
}

impl ElementSkip {
    /// Searches from a place inside `depth` brackets on in JSON, whose elements are objects.
    pub(crate) fn json(depth: u32) -> Self {
        let opener = Some(b'{');
        Self { depth, quotes: b"\"", opener, string: None, is_behind_comma: false }
    }

    /// Searches from a place inside `depth` brackets on in Python.
    pub(crate) fn python(depth: u32) -> Self {
        Self { depth, quotes: b"'\"", opener: None, string: None, is_behind_comma: false }
    }

    /// Reads the next piece; returns the number of bytes read, and the end if it was found.
    pub(crate) fn feed(&mut self, text: &str) -> (usize, Option<SkipEnd>) {
        for (at, byte) in text.bytes().enumerate() {
            if let Some((quote, is_escaped)) = self.string {
                let is_end = byte == quote && !is_escaped;
                self.string = (!is_end).then_some((quote, byte == b'\\' && !is_escaped));
                continue;
            }
            let is_in_list = self.depth == 1;
            let begins = self.is_behind_comma && !matches!(byte, b',' | b']' | b'}');
            match byte {
                _ if byte.is_ascii_whitespace() => {}
                _ if is_in_list && self.opener == Some(byte) => {
                    return (at, Some(SkipEnd::Element));
                }
                _ if begins => return (at, Some(SkipEnd::Element)),
                b'{' | b'[' | b'(' => self.depth += 1,
                b']' if is_in_list => return (at + 1, Some(SkipEnd::List)),
                // One closing bracket too many ends nothing.
                b'}' | b']' | b')' => self.depth = self.depth.saturating_sub(1).max(1),
                b',' => self.is_behind_comma = is_in_list,
                _ if self.quotes.contains(&byte) => self.string = Some((byte, false)),
                _ => {}
            }
        }
        (text.len(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_element_ends_at_its_own_brackets() {
        #[rustfmt::skip]
        let cases = [
            (2, r#"x}, {"a":1}]"#,          Some((4, SkipEnd::Element))),
            (2, r#"x "},{" y}, 7]"#,        Some((12, SkipEnd::Element))),
            (3, r"[1, {2}] }} ]z",          Some((13, SkipEnd::List))),
            (2, "x}} , ] ",                 Some((7, SkipEnd::List))),
            (1, "x; {",                     Some((3, SkipEnd::Element))),
            (1, ", ,\n [",                  Some((5, SkipEnd::Element))),
            (2, r#"x "\"},{" y"#,           None),
        ];
        for (depth, text, want) in cases {
            let whole = ElementSkip::json(depth).feed(text);
            assert_eq!(whole.1.map(|end| (whole.0, end)), want, "{text}");
            for cut in 0..=text.len() {
                let mut skip = ElementSkip::json(depth);
                let (head, tail) = text.split_at(cut);
                let (read, end) = skip.feed(head);
                let second = if end.is_none() { skip.feed(tail) } else { (0, end) };
                let place = second.1.map(|end| (read + second.0, end));
                assert_eq!(place, want, "{text} cut at {cut}");
            }
        }
    }
}
