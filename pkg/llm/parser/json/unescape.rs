//! The text that a JSON string stands for, in pieces.

use crate::types::slice;

/// Decodes the strict JSON text of one string; the opening and closing quotes are skipped.
#[derive(Debug, Default)]
pub(in crate::llm::parser) struct Unescape {
    state: State,
    /// The first half of a surrogate pair, until the second comes.
    high: Option<u16>,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    Plain,
    Backslash,
    Unicode {
        value: u16,
        count: u8,
    },
}

impl Unescape {
    /// Takes the next piece of the string's JSON text.
    pub(in crate::llm::parser) fn feed(&mut self, mut json: &str, out: &mut impl FnMut(&str)) {
        while let Some(first) = json.chars().next() {
            let taken = match self.state {
                State::Plain => {
                    let plain = memchr::memchr2(b'"', b'\\', json.as_bytes()).unwrap_or(json.len());
                    if plain > 0 {
                        self.lone_half(out);
                        out(slice(json, ..plain));
                        plain
                    } else {
                        if first == '\\' {
                            self.state = State::Backslash;
                        } else {
                            self.lone_half(out);
                        }
                        1
                    }
                }
                State::Backslash => {
                    self.simple(first, out);
                    first.len_utf8()
                }
                State::Unicode { value, count } => {
                    let digit = first.to_digit(16).unwrap_or_default();
                    let value = value << 4 | u16::try_from(digit).unwrap_or_default();
                    self.state = State::Unicode { value, count: count + 1 };
                    if count == 3 {
                        self.state = State::Plain;
                        self.unit(value, out);
                    }
                    first.len_utf8()
                }
            };
            json = slice(json, taken..);
        }
    }

    fn simple(&mut self, letter: char, out: &mut impl FnMut(&str)) {
        if letter == 'u' {
            self.state = State::Unicode { value: 0, count: 0 };
            return;
        }
        self.state = State::Plain;
        self.lone_half(out);
        out(match letter {
            'n' => "\n",
            't' => "\t",
            'r' => "\r",
            'b' => "\u{8}",
            'f' => "\u{c}",
            '/' => "/",
            '\\' => "\\",
            _ => "\"",
        });
    }

    fn unit(&mut self, unit: u16, out: &mut impl FnMut(&str)) {
        let units = self.high.take().into_iter().chain([unit]);
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

    fn lone_half(&mut self, out: &mut impl FnMut(&str)) {
        if self.high.take().is_some() {
            out("\u{FFFD}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_decodes_as_serde_does_at_every_split() {
        let texts = [r#""a\nb""#, r#""\u00e9\ud83d\ude00\\ \"x\" \/""#, r#""日本\t""#, r#""""#];
        for text in texts {
            let want: String = serde_json::from_str(text).unwrap();
            for (at, _) in text.char_indices() {
                let (head, tail) = text.split_at(at);
                let (mut unescape, mut got) = (Unescape::default(), String::new());
                unescape.feed(head, &mut |piece| got.push_str(piece));
                unescape.feed(tail, &mut |piece| got.push_str(piece));
                assert_eq!(got, want, "{text} split at {at}");
            }
        }
        let mut got = String::new();
        Unescape::default().feed(r#""\ud83dx\udc00""#, &mut |piece| got.push_str(piece));
        assert_eq!(got, "\u{FFFD}x\u{FFFD}");
    }
}
