//! Control characters made visible.

use std::{borrow::Cow, fmt::Write as _, io};

use serde_json::ser::Formatter;

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
            let code = u32::from(character);
            // Writing to a string does not fail.
            let _written = if code < 0x100 {
                write!(out, "\\x{code:02x}")
            } else {
                write!(out, "\\u{{{code:x}}}")
            };
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// Returns `true` for what a terminal obeys: controls, and what turns the direction of writing, so that
/// a line reads otherwise than it is.
fn is_unsafe(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Writes JSON whose strings a terminal cannot obey: DEL, C1 controls and turns of the direction of
/// writing are escaped, which changes no value.
pub(crate) struct SafeJson;

impl Formatter for SafeJson {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let is_plain = |byte: &u8| byte.is_ascii() && *byte != 0x7f;
        if fragment.as_bytes().iter().all(is_plain) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut done = 0;
        for (at, character) in fragment.char_indices().filter(|(_, it)| is_unsafe(*it)) {
            writer.write_all(fragment.get(done..at).unwrap_or_default().as_bytes())?;
            write!(writer, "\\u{:04x}", u32::from(character))?;
            done = at + character.len_utf8();
        }
        writer.write_all(fragment.get(done..).unwrap_or_default().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize as _;

    use super::*;

    // Found: R12
    #[test]
    fn json_is_the_same_and_shows_nothing_that_a_terminal_obeys() {
        let text = "a\u{9b}2J\u{7f} \u{202e}\u{1b}\n日é";
        let mut out = Vec::new();
        text.serialize(&mut serde_json::Serializer::with_formatter(&mut out, SafeJson)).unwrap();
        let json = String::from_utf8(out).unwrap();
        assert_eq!(json, "\"a\\u009b2J\\u007f \\u202e\\u001b\\n日é\"");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    // Found: R12
    #[test]
    fn only_line_feed_and_tab_pass_as_they_are() {
        #[rustfmt::skip]
        let cases = [
            ("plain",           "日 🦀\tx\n",        "日 🦀\tx\n"),
            ("escape sequence", "\u{1b}[31mred",     "\\x1b[31mred"),
            ("return, bell",    "a\r\n\u{7}",        "a\\r\n\\x07"),
            ("delete, null",    "\u{7f}\0",          "\\x7f\\x00"),
            ("C1",              "\u{9b}2J",          "\\x9b2J"),
            ("direction",       "a\u{202e}b\u{2069}", "a\\u{202e}b\\u{2069}"),
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
