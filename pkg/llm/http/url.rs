//! The URLs that requests are sent to.

use crate::transport::UrlAddress;
use forgeline_types::Text;

/// Splits a base URL, in whatever spelling the user gave it, into the URL without trailing slashes
/// and the query including its `?`.
pub(crate) fn split(base: &str) -> (&str, &str) {
    let base = base.trim();
    let (url, query) = base.split_at(base.find('?').unwrap_or(base.len()));
    (url.trim_end_matches('/'), query)
}

/// Returns the URL of `path` relative to `base`.
///
/// A base without a path of its own gets `version` first; one that ends in `path` is used as it is;
/// a query is kept, as needed for Azure's `api-version`.
pub(crate) fn endpoint(base: &str, version: &str, path: &str) -> Text {
    let (url, query) = split(base);
    let host = url.split_once("://").map_or(url, |(_, host)| host);
    let (version, path) = match (url.ends_with(path), host.contains('/')) {
        (true, _) => ("", ""),
        (false, true) => ("", path),
        (false, false) => (version, path),
    };
    Text::from([url, version, path, query].concat())
}

/// Returns `url` with another `name=value` pair in its query; an empty `pair` adds nothing.
pub(crate) fn with_query(url: &str, pair: &str) -> Text {
    let mark = match (pair.is_empty(), url.contains('?')) {
        (true, _) => "",
        (false, true) => "&",
        (false, false) => "?",
    };
    Text::from([url, mark, pair].concat())
}

/// Returns `true` if `url` names the host of a vendor's `default` URL; a provider for the user's own servers,
/// whose default is not encrypted, has no vendor.
pub(crate) fn is_vendors(url: &str, default: &str) -> bool {
    default.starts_with("https://") && host(url).eq_ignore_ascii_case(host(default))
}

/// Returns the host and port that `url` names.
pub(crate) fn host(url: &str) -> &str {
    UrlAddress::new(url).host
}
