//! Tags of answers, by which a client asks whether what it has is still the same.

use axum::http::{HeaderMap, header};

/// Returns `true` where the client has what has this tag: `If-None-Match` names it, or `*`. Tags are compared weakly, as RFC 9110 says: a proxy
/// that packs an answer marks its tag as weak.
pub(crate) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    headers.get_all(header::IF_NONE_MATCH).iter().any(|known| {
        let tags = known.to_str().unwrap_or_default().split(',').map(str::trim);
        let mut strong = tags.map(|known| known.strip_prefix("W/").unwrap_or(known));
        strong.any(|known| known == tag || known == "*")
    })
}
