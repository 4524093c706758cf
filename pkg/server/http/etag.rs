//! Entity tags, by which a client revalidates what it has.

use axum::http::{HeaderMap, header};

/// Returns `true` if `If-None-Match` contains the tag or `*`. Tags are compared weakly, as RFC 9110 requires: a proxy that compresses a response marks its
/// tag as weak.
pub(crate) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    headers.get_all(header::IF_NONE_MATCH).iter().any(|known| {
        let tags = known.to_str().unwrap_or_default().split(',').map(str::trim);
        let mut strong = tags.map(|known| known.strip_prefix("W/").unwrap_or(known));
        strong.any(|known| known == tag || known == "*")
    })
}
