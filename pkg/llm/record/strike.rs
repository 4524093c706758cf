//! Secrets are struck out, byte for byte, so that sizes stay true.

use std::{borrow::Cow, ops::Range};

use super::{
    keys::look_alikes,
    spelling::{Found, at_start, in_base64},
    strings::by_key,
};

/// Shortest value of a header, query or address that is looked for elsewhere, in bytes: striking
/// out less would garble bodies.
const MIN_BYTES: usize = 4;

/// Shortest word that is learnt because it looks like a key, in bytes.
const MIN_LEARNT: usize = 10;

/// Words that must not be written down. `Debug` shows how many.
#[derive(Clone, Default)]
pub(crate) struct Words(Vec<String>);

impl std::fmt::Debug for Words {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Words({})", self.0.len())
    }
}

impl Words {
    /// Adds a word that the user calls secret.
    pub(crate) fn add(&mut self, word: &str) {
        let word = word.trim();
        if !word.is_empty() && !self.0.iter().any(|known| known == word) {
            self.0.push(word.to_owned());
        }
    }

    /// Adds a value that is taken for a secret because of where it stands.
    pub(crate) fn guess(&mut self, value: &str) {
        // Words of JSON say nothing, and without them bodies would be none.
        let says_something = !matches!(value, "true" | "false" | "null" | "none");
        if value.trim().len() >= MIN_BYTES && says_something {
            self.add(value);
        }
    }

    /// Adds what looks like a key in `text`, so that its other spellings are found too.
    pub(crate) fn learn(&mut self, text: &[u8]) {
        look_alikes(text, |range| {
            let word = text.get(range).and_then(|word| std::str::from_utf8(word).ok());
            if let Some(word) = word.filter(|word| word.len() >= MIN_LEARNT) {
                self.add(word);
            }
        });
    }

    /// Strikes them, and what looks like a key, in `text`.
    pub(crate) fn strike(&self, text: &mut [u8]) {
        let words = self.spellings();
        let mut ranges = find(text, &words);
        // A model may write one in pieces: a word a delta.
        for joined in by_key(text) {
            for found in find(&joined.bytes, &words) {
                ranges.extend(joined.places(found));
            }
        }
        for range in ranges {
            if let Some(found) = text.get_mut(range) {
                // A number stays one.
                let is_number = found.iter().all(u8::is_ascii_digit);
                found.fill(if is_number { b'1' } else { b'x' });
            }
        }
    }

    /// The same for text.
    pub(crate) fn strike_text(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        self.strike(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn spellings(&self) -> Vec<Cow<'_, str>> {
        let plain = self.0.iter().map(|word| Cow::Borrowed(word.as_str()));
        let coded = self.0.iter().flat_map(|word| in_base64(word)).map(Cow::Owned);
        plain.chain(coded).collect()
    }
}

/// Where any of `words` stands, and what looks like a key; places may overlap.
fn find(text: &[u8], words: &[Cow<'_, str>]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    look_alikes(text, |range| ranges.push(range));
    for word in words {
        let Some(first) = word.chars().find(|letter| *letter != '\\') else { continue };
        let mut buffer = [0; 4];
        let first = first.encode_utf8(&mut buffer).as_bytes().first().copied().unwrap_or(0);
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            let may_start = byte == first || matches!(byte, b'\\' | b'%' | b'+');
            let rest = text.get(at..).unwrap_or_default();
            match if may_start { at_start(rest, word) } else { Found::No } {
                Found::Bytes(length) if length > 0 => {
                    ranges.push(at..at + length);
                    at += length;
                }
                Found::Bytes(_) | Found::No => at += 1,
            }
        }
    }
    ranges
}
