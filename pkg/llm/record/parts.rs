//! What of a request may be written down, and what of it is secret.

use super::Words;
use crate::{llm::transport::HttpRequest, types::Text};

/// Headers that hold no secret, and that tell what a recording is.
#[rustfmt::skip]
const HARMLESS: [&str; 27] = [
    "accept", "accept-encoding", "accept-language", "anthropic-beta", "anthropic-version",
    "apim-request-id", "cache-control", "cf-ray", "connection", "content-encoding",
    "content-length", "content-type", "date", "location", "openai-beta", "openai-processing-ms",
    "openai-version", "request-id", "retry-after", "retry-after-ms", "server",
    "transfer-encoding", "user-agent", "vary", "x-kong-request-id", "x-request-id",
    "x-should-retry",
];

/// How the names of harmless headers begin: limits and what is left of them.
const HARMLESS_STARTS: [&str; 3] = ["ratelimit-", "x-ratelimit-", "anthropic-ratelimit-"];

/// Values of a query that are no secret.
const HARMLESS_VALUES: [&str; 2] = ["alt", "api-version"];

fn is_harmless(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    HARMLESS.contains(&name.as_str()) || HARMLESS_STARTS.iter().any(|start| name.starts_with(start))
}

/// The words of `request` that must not be written down, beside those of `words`.
pub(crate) fn words_of(request: &HttpRequest, mut words: Words) -> Words {
    for (name, value) in request.headers.iter().filter(|(name, _)| !is_harmless(name)) {
        words.guess(value);
        // A scheme may stand before the secret, as in `Bearer KEY`.
        let key = value.split_once(' ').map(|(scheme, key)| (scheme.to_ascii_lowercase(), key));
        match key {
            Some((scheme, key)) if scheme == "basic" => {
                words.guess(key);
                let decoded =
                    super::base64::decode(key.trim()).and_then(|it| String::from_utf8(it).ok());
                if let Some(decoded) = decoded {
                    user_and_password(&decoded, &mut words);
                }
            }
            Some((scheme, key)) if ["bearer", "token", "key"].contains(&scheme.as_str()) => {
                words.guess(key);
            }
            Some(_) | None => {}
        }
        if name.eq_ignore_ascii_case("cookie") {
            let values = value.split(';').filter_map(|pair| pair.split_once('='));
            values.for_each(|(_, value)| words.guess(value));
        }
    }
    let (address, query) = split_query(&request.url);
    if let Some((user, _)) = authority(address).rsplit_once('@') {
        user_and_password(user, &mut words);
    }
    for (name, value) in pairs(query) {
        if !HARMLESS_VALUES.contains(&name) {
            words.guess(value);
            words.guess(&percent_decoded(value));
        }
    }
    words.learn(request.url.as_bytes());
    request.headers.iter().for_each(|(_, value)| words.learn(value.as_bytes()));
    request.body.iter().for_each(|segment| words.learn(segment));
    words
}

fn user_and_password(text: &str, words: &mut Words) {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    for part in [text, user, password] {
        words.guess(part);
        words.guess(&percent_decoded(part));
    }
}

/// The harmless ones of `headers`, without `words`; names in lower case.
pub(super) fn shown_headers(headers: &[(Text, Text)], words: &Words) -> Vec<(Text, Text)> {
    let shown = headers.iter().filter(|(name, _)| is_harmless(name));
    let shown = shown.map(|(name, value)| {
        let value =
            if name.eq_ignore_ascii_case("location") { &shown_url(value, words) } else { value };
        (Text::from(name.to_ascii_lowercase()), Text::from(words.strike_text(value)))
    });
    shown.collect()
}

/// `url` without user, password, fragment and the values of its query.
pub(super) fn shown_url(url: &str, words: &Words) -> Text {
    let (address, query) = split_query(url);
    let authority = authority(address);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let scheme =
        address.split_once("://").map_or(String::new(), |(scheme, _)| format!("{scheme}://"));
    let mut shown = format!("{scheme}{host}{}", path(address));
    for (at, (name, value)) in pairs(query).enumerate() {
        shown.push(if at == 0 { '?' } else { '&' });
        let value = if HARMLESS_VALUES.contains(&name) { value } else { "x" };
        shown.extend([name, "=", value]);
    }
    Text::from(words.strike_text(&shown))
}

/// The path of `url`, without its query.
pub(crate) fn path(url: &str) -> &str {
    let (address, _) = split_query(url);
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("")
}

fn authority(address: &str) -> &str {
    let Some((_, rest)) = address.split_once("://") else { return "" };
    rest.split('/').next().unwrap_or_default()
}

/// The address and the query, without the fragment.
fn split_query(url: &str) -> (&str, &str) {
    let url = url.split('#').next().unwrap_or_default();
    url.split_once('?').unwrap_or((url, ""))
}

/// Names and values of a query; what has no name is all value.
fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or(("", pair)))
}

fn percent_decoded(text: &str) -> String {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&byte, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (byte, tail) = match value.filter(|_| byte == b'%') {
            Some(value) => (value, tail.get(2..).unwrap_or_default()),
            None => (byte, tail),
        };
        out.push(byte);
        rest = tail;
    }
    String::from_utf8_lossy(&out).into_owned()
}
