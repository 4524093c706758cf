//! Addresses: where requests go, and what of them may be shown.

pub(super) use crate::llm::transport::shown;
use crate::{llm::record::base64, types::Text};

/// The address of `path` below `base`, in whatever spelling the user gave it.
///
/// A base without a path of its own gets `version` first; one that ends in `path` is taken as it is;
/// a query is kept, as Azure's `api-version` needs it.
///
/// # Examples
///
/// ```
/// use forgeline::llm::http::endpoint;
///
/// let want = "http://h:8080/v1/messages";
/// for base in ["http://h:8080", "http://h:8080/v1/", "http://h:8080/v1/messages"] {
///     assert_eq!(endpoint(base, "/v1", "/messages"), want);
/// }
/// ```
#[must_use]
pub fn endpoint(base: &str, version: &str, path: &str) -> Text {
    let url = base.trim();
    let (url, query) = match url.split_once('?') {
        Some((url, query)) => (url, format!("?{query}")),
        None => (url, String::new()),
    };
    let url = url.trim_end_matches('/');
    let host = url.split_once("://").map_or(url, |(_, host)| host);
    Text::from(if url.ends_with(path) {
        format!("{url}{query}")
    } else if host.contains('/') {
        format!("{url}{path}{query}")
    } else {
        format!("{url}{version}{path}{query}")
    })
}

/// Names of query values that are no secret.
const OPEN_VALUES: [&str; 4] = ["alt", "api-version", "version", "beta"];

/// What may be secret in `url`: a password, or a user without one, also as the header that it becomes,
/// and the values of a query.
pub(super) fn secrets(url: &str) -> Vec<String> {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    let mut secrets = Vec::new();
    if let Some((user, _)) = host.rsplit_once('@') {
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        let secret = if password.is_empty() { user } else { password };
        let basic = [decoded(user), b":".to_vec(), decoded(password)].concat();
        secrets.extend([secret.to_owned(), base64::encode(&basic)]);
        secrets.extend(String::from_utf8(decoded(secret)));
    }
    let values = query.split('&').filter_map(|pair| pair.split_once('='));
    let values = values.filter(|(name, _)| !OPEN_VALUES.contains(name)).map(|(_, value)| value);
    for value in values {
        secrets.push(value.to_owned());
        secrets.extend(String::from_utf8(decoded(value)));
    }
    secrets.sort_unstable();
    secrets.dedup();
    secrets
}

/// The bytes that a part of a URL stands for; `%` and two digits are one.
fn decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        let digits = others.first_chunk::<2>().and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) if first == b'%' => {
                out.push(byte);
                rest = others.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(first);
                rest = others;
            }
        }
    }
    out
}

/// `url` with another `name=value` in its query.
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "cohere"))]
pub(in crate::llm) fn with_query(url: &str, pair: &str) -> Text {
    let mark = if url.contains('?') { '&' } else { '?' };
    Text::from(format!("{url}{mark}{pair}"))
}

/// The host that `url` names, and its port.
pub(super) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.rsplit_once('@').map_or(host, |(_, host)| host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_in_every_spelling_lead_to_the_endpoint() {
        #[rustfmt::skip]
        let cases = [
            ("http://h:8080",                   "http://h:8080/v1/chat/completions"),
            ("http://h:8080/",                  "http://h:8080/v1/chat/completions"),
            ("http://h:8080/v1",                "http://h:8080/v1/chat/completions"),
            ("http://h:8080/v1/",               "http://h:8080/v1/chat/completions"),
            ("https://h/openai/v1",             "https://h/openai/v1/chat/completions"),
            ("https://h/v1/chat/completions",   "https://h/v1/chat/completions"),
            ("https://h/d/x?api-version=1",     "https://h/d/x/chat/completions?api-version=1"),
        ];
        for (base, want) in cases {
            assert_eq!(endpoint(base, "/v1", "/chat/completions"), want);
        }
    }

    #[test]
    fn a_shown_url_has_no_password_and_no_value_of_its_query() {
        let shown = shown("https://me:pass@h:1/p?key=sk-1&x=2");
        assert_eq!(shown, "https://h:1/p?key=…&x=…");
        let url = "https://me:pass@h:1/p?key=sk-1&api-version=2&x=3";
        assert_eq!(secrets(url), ["3", "bWU6cGFzcw==", "pass", "sk-1"]);
        assert_eq!(secrets("https://tok%2Ben@h"), ["dG9rK2VuOg==", "tok%2Ben", "tok+en"]);
        assert_eq!(secrets("http://h").len(), 0);
    }
}
