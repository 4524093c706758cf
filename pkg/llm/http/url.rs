//! Addresses: where requests go, and what of an address must not be shown.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;

pub(super) use crate::llm::transport::redact_url;
use crate::types::Text;

/// Splits a base URL, in whatever spelling the user gave it, into the URL without slashes at its end
/// and the query with its mark.
pub(in crate::llm) fn split(base: &str) -> (&str, &str) {
    let base = base.trim();
    let (url, query) = base.split_at(base.find('?').unwrap_or(base.len()));
    (url.trim_end_matches('/'), query)
}

/// Returns the URL of `path` below `base`.
///
/// A base without a path of its own gets `version` first; one that ends in `path` is taken as it is;
/// a query is kept, as Azure's `api-version` needs it.
pub(in crate::llm) fn endpoint(base: &str, version: &str, path: &str) -> Text {
    let (url, query) = split(base);
    let host = url.split_once("://").map_or(url, |(_, host)| host);
    let (version, path) = match (url.ends_with(path), host.contains('/')) {
        (true, _) => ("", ""),
        (false, true) => ("", path),
        (false, false) => (version, path),
    };
    Text::from([url, version, path, query].concat())
}

/// Returns `url` with another `name=value` in its query; an empty `pair` adds nothing.
pub(in crate::llm) fn with_query(url: &str, pair: &str) -> Text {
    let mark = match (pair.is_empty(), url.contains('?')) {
        (true, _) => "",
        (false, true) => "&",
        (false, false) => "?",
    };
    Text::from([url, mark, pair].concat())
}

/// Returns the host that `url` names, and its port.
pub(in crate::llm) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.rsplit_once('@').map_or(host, |(_, host)| host)
}

/// Names of query values that are not secret.
const OPEN_VALUES: [&str; 4] = ["alt", "api-version", "version", "beta"];

/// Returns what may be secret in `url`: a password, or a user without one, also as the header that it
/// becomes, and the values of a query.
pub(super) fn secrets(url: &str) -> Vec<String> {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let mut secrets = Vec::new();
    let mut add = |secret: &str| {
        secrets.push(secret.to_owned());
        secrets.extend(String::from_utf8(decoded(secret)));
    };
    let values = query.split('&').filter_map(|pair| pair.split_once('='));
    values.filter(|(name, _)| !OPEN_VALUES.contains(name)).for_each(|(_, value)| add(value));
    if let Some((user, _)) = authority.rsplit_once('@') {
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        add(if password.is_empty() { user } else { password });
        let basic = [decoded(user), b":".to_vec(), decoded(password)].concat();
        secrets.push(STANDARD.encode(basic));
    }
    secrets.sort_unstable();
    secrets.dedup();
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_url_has_no_password_and_no_value_of_its_query() {
        let shown = redact_url("https://me:pass@h:1/p?key=sk-1&x=2");
        assert_eq!(shown, "https://h:1/p?key=…&x=…");
        let url = "https://me:pass@h:1/p?key=sk-1&api-version=2&x=3";
        assert_eq!(secrets(url), ["3", "bWU6cGFzcw==", "pass", "sk-1"]);
        assert_eq!(secrets("https://tok%2Ben@h"), ["dG9rK2VuOg==", "tok%2Ben", "tok+en"]);
        assert_eq!(secrets("http://h").len(), 0);
    }
}
