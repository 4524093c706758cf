//! The spellings of a secret in plain text, JSON, URLs and base64.

use base64::prelude::{BASE64_STANDARD, Engine as _};

use forgeline_json::subslice;

/// Minimum number of letters at the end of a text that count as the start of a secret.
const MIN_CUT: usize = 4;

/// Minimum length of a secret's base64 that is searched for, in letters: shorter ones would match by chance.
const MIN_BASE64: usize = 8;

/// Returns the length of `word`, or of its start at the end of a truncated text, if `text` begins with it:
/// plain, with JSON escapes at any depth, or percent-encoded, in any mixture.
pub(super) fn at_start(text: &[u8], word: &str) -> Option<usize> {
    let mut at = 0;
    // Backslashes are skipped wherever they are, so those of the word itself do not count.
    for (count, letter) in word.chars().filter(|letter| *letter != '\\').enumerate() {
        let rest = subslice(text, at..);
        match spelled(rest, letter) {
            Some(length) => at += length,
            None if count >= MIN_CUT && is_cut(rest) => return Some(text.len()),
            None => return None,
        }
    }
    Some(at)
}

/// Returns the length of `letter` at the start of `text`, in bytes.
fn spelled(text: &[u8], letter: char) -> Option<usize> {
    let slashes = text.iter().take_while(|byte| **byte == b'\\').count();
    let after = text.get(slashes..)?;
    let mut buffer = [0; 4];
    let plain = letter.encode_utf8(&mut buffer).as_bytes();
    // Escapes are checked first: `\u0075` is the letter u, not a backslash before one.
    if slashes > 0 {
        let short = match letter {
            '\n' => b'n',
            '\r' => b'r',
            '\t' => b't',
            '\u{8}' => b'b',
            '\u{c}' => b'f',
            _ => 0,
        };
        if short != 0 && after.first() == Some(&short) {
            return Some(slashes + 1);
        }
        if let Some(length) = unicode(text, letter) {
            return Some(length);
        }
    }
    if after.starts_with(plain) {
        return Some(slashes + plain.len());
    }
    if slashes > 0 {
        return None;
    }
    if letter == ' ' && after.first() == Some(&b'+') {
        return Some(1);
    }
    let is_encoded = plain.iter().zip(after.chunks(3)).all(|(byte, three)| {
        three.first() == Some(&b'%') && hex(three.get(1..3)) == Some(u32::from(*byte))
    });
    (is_encoded && after.len() >= 3 * plain.len()).then_some(3 * plain.len())
}

/// Returns the length of `letter` in escapes such as `\u00e9`, two of them for a surrogate pair.
fn unicode(text: &[u8], letter: char) -> Option<usize> {
    let mut units = [0; 2];
    let mut at = 0;
    for unit in letter.encode_utf16(&mut units) {
        let rest = text.get(at..)?;
        let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
        let is_escape = slashes > 0 && rest.get(slashes) == Some(&b'u');
        let digits = rest.get(slashes + 1..slashes + 5);
        if !is_escape || hex(digits) != Some(u32::from(*unit)) {
            return None;
        }
        at += slashes + 5;
    }
    Some(at)
}

fn hex(digits: Option<&[u8]>) -> Option<u32> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    digits?.iter().try_fold(0, |value, byte| Some(value << 4 | digit(byte)?))
}

/// Returns `true` if a text that ends with `rest` may have been truncated inside a letter.
fn is_cut(rest: &[u8]) -> bool {
    let starts_escape = matches!(rest.first(), None | Some(b'\\' | b'%' | 0x80..));
    starts_escape && rest.len() < 12
}

/// Returns the spellings of `word` inside longer base64: one for each position in a group of three bytes,
/// in both alphabets.
pub(super) fn in_base64(word: &str) -> Vec<String> {
    let mut spellings = Vec::new();
    for offset in 0..3 {
        let bytes = [&[0; 2][..offset.min(2)], word.as_bytes()].concat();
        let coded = BASE64_STANDARD.encode(&bytes);
        // Letters at the edges also hold bits of the neighboring bytes.
        let inner = (offset * 8).div_ceil(6)..bytes.len() * 8 / 6;
        let Some(inner) = coded.get(inner).filter(|inner| inner.len() >= MIN_BASE64) else {
            continue;
        };
        let for_urls = inner.replace('+', "-").replace('/', "_");
        if for_urls != inner {
            spellings.push(for_urls);
        }
        spellings.push(inner.to_owned());
    }
    spellings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_in_every_spelling() {
        #[rustfmt::skip]
        let rows = [
            ("a-b/c",   "a-b/c!",                   Some(5)),
            ("a-b/c",   r"a-b\/c!",                 Some(6)),
            ("a-b/c",   r"\u0061\u002Db/c",         Some(15)),
            ("us",      r"\u0075\u0073",            Some(12)),
            ("a-b/c",   "a%2Db%2fc",                Some(9)),
            ("say\"x",  r#"say\"x"#,                Some(6)),
            ("say\"x",  r#"say\\\"x"#,              Some(8)),
            ("a\nb",    r"a\nb",                    Some(4)),
            (r"a\b-c",  r"a\\b-c",                  Some(6)),
            ("é🦀",     r"\u00e9\ud83e\udd80",      Some(18)),
            ("é🦀",     "%C3%A9%F0%9F%A6%80",       Some(18)),
            ("a b",     "a+b",                      Some(3)),
            ("abcdef",  "abcd",                     Some(4)),
            ("abcdef",  r"abcd\u00",                Some(8)),
            ("abcdef",  "abc",                      None),
            ("abcdef",  "abcdx",                    None),
        ];
        for (word, text, want) in rows {
            assert_eq!(at_start(text.as_bytes(), word), want, "{word} in {text}");
        }
    }

    #[test]
    fn base64_of_a_text_around_the_word_holds_one_of_its_spellings() {
        for before in ["", "x", "xy", "xyz"] {
            let coded =
                BASE64_STANDARD.encode(format!("{before}a secret word!>?>? and more").as_bytes());
            let spellings = in_base64("a secret word!>?>?");
            assert!(spellings.iter().any(|word| coded.contains(word)), "{before}: {coded}");
        }
    }
}
