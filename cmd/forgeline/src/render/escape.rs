//! Control characters made visible.

use std::{borrow::Cow, fmt::Write as _};

/// `text` with every control character except line feed and tab shown escaped, such as `\x1b`.
///
/// What a model or a tool writes must not move the cursor or recolour the terminal.
#[must_use]
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if character == '\r' {
            out.push_str("\\r");
        } else if is_unsafe(character) {
            // Writing to a string does not fail.
            let _written = write!(out, "\\x{:02x}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

fn is_unsafe(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_line_feed_and_tab_pass_as_they_are() {
        #[rustfmt::skip]
        let cases = [
            ("plain",           "日 🦀\tx\n",        "日 🦀\tx\n"),
            ("escape sequence", "\u{1b}[31mred",     "\\x1b[31mred"),
            ("return, bell",    "a\r\n\u{7}",        "a\\r\n\\x07"),
            ("delete, null",    "\u{7f}\0",          "\\x7f\\x00"),
            ("C1",              "\u{9b}2J",          "\\x9b2J"),
        ];
        for (name, text, want) in cases {
            assert_eq!(escape_controls(text), want, "{name}");
        }
        for code in (0..0x20).chain(0x7f..0xa0) {
            let control = char::from_u32(code).unwrap();
            let shown = escape_controls(&control.to_string()).into_owned();
            assert_eq!(shown.chars().any(char::is_control), matches!(control, '\n' | '\t'));
        }
    }
}
