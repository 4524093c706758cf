//! Redaction of requests and responses for a recording, without changing their length.

use std::ops::Range;

use bytes::Bytes;
use serde_json::Value;

use super::{SecretRedactor, pieces::by_key, redactor::fill};
use crate::secrets::keys::look_alikes;
use crate::transport::{HttpRequest, UrlAddress};
use forgeline_types::Text;

/// Minimum length of a word that is learned because it looks like a key, in bytes.
const MIN_LEARNT: usize = 10;

/// Headers that hold no secret and describe the recording.
#[rustfmt::skip]
const PUBLIC_HEADERS: [&str; 27] = [
    "accept", "accept-encoding", "accept-language", "anthropic-beta", "anthropic-version",
    "apim-request-id", "cache-control", "cf-ray", "connection", "content-encoding",
    "content-length", "content-type", "date", "location", "openai-beta", "openai-processing-ms",
    "openai-version", "request-id", "retry-after", "retry-after-ms", "server",
    "transfer-encoding", "user-agent", "vary", "x-kong-request-id", "x-request-id",
    "x-should-retry",
];

/// Prefixes of public headers, such as those about rate limits.
const PUBLIC_STARTS: [&str; 3] = ["ratelimit-", "x-ratelimit-", "anthropic-ratelimit-"];

fn is_public(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let starts = |start: &&str| name.starts_with(start);
    PUBLIC_HEADERS.contains(&name.as_str()) || PUBLIC_STARTS.iter().any(starts)
}

impl SecretRedactor {
    /// Adds the secrets of `request`.
    #[doc(hidden)]
    #[must_use]
    pub fn request(mut self, request: &HttpRequest) -> Self {
        for (name, value) in request.headers.iter().filter(|(name, _)| !is_public(name)) {
            self.header(value);
            if name.eq_ignore_ascii_case("cookie") {
                let values = value.split(';').filter_map(|pair| pair.split_once('='));
                values.for_each(|(_, value)| self.guess(value));
            }
        }
        self.url(&request.url);
        self.learn(request.url.as_bytes());
        request.headers.iter().for_each(|(_, value)| self.learn(value.as_bytes()));
        request.body.iter().for_each(|segment| self.learn(segment));
        self
    }

    /// Adds everything in `text` that looks like a key, so that its other spellings are found too.
    #[doc(hidden)]
    pub fn learn(&mut self, text: &[u8]) {
        look_alikes(text, |range| {
            let word = text.get(range).and_then(|word| std::str::from_utf8(word).ok());
            if let Some(word) = word.filter(|word| word.len() >= MIN_LEARNT) {
                self.add(word);
            }
        });
    }

    /// Overwrites the secrets in `text`, and everything that looks like a key.
    #[doc(hidden)]
    pub fn bytes(&self, text: &mut [u8]) {
        let mut ranges = self.places(text);
        // A model may write a key in pieces, a word in each delta.
        for joined in by_key(text) {
            for found in self.places(&joined.bytes) {
                ranges.extend(joined.places(found));
            }
        }
        fill(text, ranges);
    }

    fn places(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut ranges = self.find(text);
        look_alikes(text, |range| ranges.push(range));
        ranges
    }

    /// Returns `text` with its secrets overwritten.
    #[doc(hidden)]
    pub fn same_length(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        self.bytes(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the public headers among `headers`, redacted, with names in lower case.
    #[doc(hidden)]
    pub fn headers(&self, headers: &[(Text, Text)]) -> Vec<(Text, Text)> {
        let public = headers.iter().filter(|(name, _)| is_public(name));
        let redacted = public.map(|(name, value)| {
            let name = name.to_ascii_lowercase();
            let value = match name.as_str() {
                "location" => self.recorded_url(value),
                _ => Text::from(self.same_length(value)),
            };
            (Text::from(name), value)
        });
        redacted.collect()
    }

    /// Returns `url` without user, password and fragment, and without the values of its query.
    #[doc(hidden)]
    pub fn recorded_url(&self, url: &str) -> Text {
        Text::from(self.same_length(&UrlAddress::new(url).redacted("x")))
    }

    /// Returns the redacted body of a request: as JSON if it is JSON, or else as text; null if it is empty.
    #[doc(hidden)]
    pub fn body(&self, segments: &[Bytes]) -> Value {
        let mut bytes = segments.concat();
        if bytes.is_empty() {
            return Value::Null;
        }
        self.bytes(&mut bytes);
        let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
        serde_json::from_slice(&bytes).unwrap_or_else(|_| text())
    }
}
