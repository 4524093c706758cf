//! The secrets of an exchange, and their places in a text.

use std::{borrow::Cow, fmt, ops::Range};

use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, Engine as _};
use percent_encoding::percent_decode_str;

use super::spelling::{at_start, in_base64};
use crate::{
    ProviderError,
    secrets::{assignments::assigned_secrets, redaction::replaced},
    transport::UrlAddress,
};
use forgeline_types::{Json, Text};

/// Minimum length of a header or URL value that counts as a secret, in bytes: removing shorter ones would
/// garble texts.
const MIN_BYTES: usize = 4;

/// Schemes that precede the secret in the value of a header.
const SCHEMES: [&str; 4] = ["basic", "bearer", "token", "key"];

/// A set of secrets to remove. `Debug` shows only their number.
#[derive(Clone, Default)]
pub struct SecretRedactor(Vec<String>);

impl fmt::Debug for SecretRedactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Redactor({})", self.0.len())
    }
}

impl SecretRedactor {
    /// Adds a secret, however short.
    #[doc(hidden)]
    pub fn add(&mut self, word: &str) {
        let word = word.trim();
        if !word.is_empty() && !self.0.iter().any(|known| known == word) {
            self.0.push(word.to_owned());
        }
    }

    /// Adds a value that counts as secret because of its position.
    #[doc(hidden)]
    pub fn guess(&mut self, value: &str) {
        // Without these words, JSON would no longer be JSON.
        let is_json_word = matches!(value, "true" | "false" | "null" | "none");
        if value.trim().len() >= MIN_BYTES && !is_json_word {
            self.add(value);
        }
    }

    /// Adds the value of a header, and the key in it if a scheme precedes it: `Bearer KEY`.
    #[doc(hidden)]
    pub fn header(&mut self, value: &str) {
        self.guess(value);
        let Some((scheme, key)) = value.split_once(' ') else { return };
        let scheme = scheme.to_ascii_lowercase();
        if SCHEMES.contains(&scheme.as_str()) {
            self.guess(key);
        }
        if scheme == "basic" {
            let decoded = BASE64_STANDARD_NO_PAD.decode(key.trim().trim_end_matches('='));
            if let Some(user) = decoded.ok().and_then(|bytes| String::from_utf8(bytes).ok()) {
                self.user(&user);
            }
        }
    }

    /// Adds the user and password of `url`, also in the form of the header made from them, and the values of its
    /// query.
    #[doc(hidden)]
    pub fn url(&mut self, url: &str) {
        let address = UrlAddress::new(url);
        if !address.user.is_empty() {
            self.user(address.user);
            let (user, password) = address.user.split_once(':').unwrap_or((address.user, ""));
            let pair = [
                percent_decode_str(user).collect(),
                vec![b':'],
                percent_decode_str(password).collect(),
            ];
            self.guess(&BASE64_STANDARD.encode(pair.concat()));
        }
        for value in address.secret_values() {
            self.decoded(value);
        }
    }

    /// Adds `user:password` and each of the two.
    fn user(&mut self, text: &str) {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        for part in [text, user, password] {
            self.decoded(part);
        }
    }

    /// Adds a part of a URL as it is and percent-decoded.
    fn decoded(&mut self, part: &str) {
        self.guess(part);
        self.guess(&percent_decode_str(part).decode_utf8_lossy());
    }

    /// Returns the ranges of the secrets in `text`, in any spelling, and of the values whose names
    /// mark them as secret; the ranges may overlap.
    pub(super) fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        let coded = self.0.iter().flat_map(|word| in_base64(word)).map(Cow::Owned);
        let words = self.0.iter().map(|word| Cow::Borrowed(word.as_str())).chain(coded);
        let mut ranges = assigned_secrets(text);
        for word in words {
            let Some(first) = word.chars().find(|letter| *letter != '\\') else { continue };
            let mut buffer = [0; 4];
            let first = first.encode_utf8(&mut buffer).as_bytes().first().copied();
            let mut at = 0;
            while let Some((&byte, _)) = text.get(at..).and_then(<[u8]>::split_first) {
                let may_start = Some(byte) == first || matches!(byte, b'\\' | b'%' | b'+');
                let rest = text.get(at..).filter(|_| may_start);
                match rest.and_then(|rest| at_start(rest, &word)).filter(|length| *length > 0) {
                    Some(length) => {
                        ranges.push(at..at + length);
                        at += length;
                    }
                    None => at += 1,
                }
            }
        }
        ranges
    }

    /// Returns `text` with `[key]` in place of each secret, and in place of the start of one if the text was
    /// shortened.
    #[doc(hidden)]
    pub fn text(&self, text: &str) -> String {
        let kept = text.trim_end_matches(['…', '"']);
        replaced(text, self.find(kept.as_bytes()))
    }

    /// Returns `error` with the secrets removed from the server's text.
    pub(crate) fn error(&self, mut error: ProviderError) -> ProviderError {
        self.redact(&mut error);
        error
    }

    fn redact(&self, error: &mut ProviderError) {
        let redact = |text: &mut Text| *text = Text::from(self.text(text));
        if let ProviderError::InStream { code, message, raw, .. } = error {
            code.iter_mut().for_each(redact);
            redact(message);
            *raw = raw.take().map(|raw| self.json(raw));
        } else if let ProviderError::Decode { reason, .. } = error {
            redact(reason);
        } else if let ProviderError::RetriesExhausted { last, .. } = error {
            self.redact(last);
        }
    }

    /// Redacts JSON in place, since it may spell a secret with escapes.
    fn json(&self, raw: Json) -> Json {
        let mut bytes = raw.as_str().as_bytes().to_vec();
        let ranges = self.find(&bytes);
        if ranges.is_empty() {
            return raw;
        }
        fill(&mut bytes, ranges);
        Json::parse(&String::from_utf8_lossy(&bytes)).unwrap_or_default()
    }
}

/// Overwrites `ranges` with letters, or with digits if a number is overwritten.
pub(super) fn fill(text: &mut [u8], ranges: Vec<Range<usize>>) {
    for range in ranges {
        if let Some(found) = text.get_mut(range) {
            let is_number = found.iter().all(u8::is_ascii_digit);
            found.fill(if is_number { b'1' } else { b'x' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_tells_its_secrets() {
        let secrets = |url: &str| {
            let mut redactor = SecretRedactor::default();
            redactor.url(url);
            redactor.0.sort_unstable();
            redactor.0
        };
        let url = "https://me:pass@h:1/p?key=sk-1&api-version=2&x=3";
        assert_eq!(secrets(url), ["bWU6cGFzcw==", "me:pass", "pass", "sk-1"]);
        assert_eq!(secrets("https://tok%2Ben@h"), ["dG9rK2VuOg==", "tok%2Ben", "tok+en"]);
        assert_eq!(secrets("http://h").len(), 0);
    }

    #[test]
    fn a_message_is_redacted_to_its_shortened_end() {
        let mut redactor = SecretRedactor::default();
        redactor.header("Bearer sk-12345");
        redactor.guess("abc");
        let rows = [
            ("key sk-12345 and Bearer sk-12345.", "key [key] and [key]."),
            (r"a\u0073k-12345b", "a[key]b"),
            ("the key sk-12…", "the key [key]…"),
            ("abc true", "abc true"),
        ];
        for (text, want) in rows {
            assert_eq!(redactor.text(text), want);
        }
        let raw = Json::parse(r#"{"key":"sk-12345","n":1}"#).unwrap();
        assert_eq!(redactor.json(raw).as_str(), r#"{"key":"xxxxxxxx","n":1}"#);
    }

    #[test]
    fn an_error_is_redacted_wherever_the_server_could_repeat_a_secret() {
        let mut redactor = SecretRedactor::default();
        redactor.guess("sk-12345");
        let text = || Text::from("a sk-12345 b");
        let errors = [
            ProviderError::Decode { offset: 1, reason: text() },
            ProviderError::InStream {
                kind: forgeline_types::ErrorCode::InStream,
                code: Some(text()),
                message: text(),
                raw: Json::parse(r#"["sk-12345"]"#).ok(),
            },
        ];
        for error in errors {
            let name = format!("{error:?}");
            let error = redactor.error(error);
            let shown = format!("{error:?}");
            assert!(!shown.contains("sk-12345") && shown.contains("[key]"), "{name}: {shown}");
        }
        let last = Box::new(ProviderError::Decode { offset: 1, reason: text() });
        let nested = redactor.error(ProviderError::RetriesExhausted { attempts: 2, last });
        assert_eq!(nested.root().to_agent_error().message.matches("[key]").count(), 1);
    }
}
