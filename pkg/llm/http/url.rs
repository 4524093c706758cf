//! Addresses: where requests go, and what of them may be shown.

use crate::types::Text;

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

/// `url` without what may be secret in it: a user and password, and the values of a query.
pub(super) fn shown(url: &str) -> String {
    let (address, query) =
        url.split_once('?').map_or((url, None), |(url, query)| (url, Some(query)));
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let host_end = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at_checked(host_end).unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let mut out = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    out.push_str(host);
    out.push_str(path);
    for (at, pair) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        let name = pair.split_once('=').map_or(pair, |(name, _)| name);
        out.push(if at == 0 { '?' } else { '&' });
        out.push_str(name);
        out.push_str("=…");
    }
    out
}

/// Names of query values that are no secret.
const OPEN_VALUES: [&str; 4] = ["alt", "api-version", "version", "beta"];

/// What may be secret in `url`: a password, and the values of a query.
pub(super) fn secrets(url: &str) -> impl Iterator<Item = &str> {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    let user = host.rsplit_once('@').map(|(user, _)| user).unwrap_or_default();
    let password = user.split_once(':').map(|(_, password)| password);
    let values = query.split('&').filter_map(|pair| pair.split_once('='));
    let values = values.filter(|(name, _)| !OPEN_VALUES.contains(name)).map(|(_, value)| value);
    password.into_iter().chain(values)
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
        assert_eq!(secrets(url).collect::<Vec<_>>(), ["pass", "sk-1", "3"]);
        assert_eq!(secrets("http://h").count(), 0);
    }
}
