//! The addresses that requests go to.

use crate::types::Text;

/// Returns the address of `path` below `base`, in whatever spelling the user gave it.
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

/// Returns `url` with another `name=value` in its query.
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "cohere"))]
pub(in crate::llm) fn with_query(url: &str, pair: &str) -> Text {
    let mark = if url.contains('?') { '&' } else { '?' };
    Text::from(format!("{url}{mark}{pair}"))
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
}
