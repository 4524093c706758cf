//! Pages of other origins that may send requests.

use axum::http::{Extensions, HeaderValue, request::Parts};

/// The origins whose pages may send requests, besides the service's own.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowedOrigins(Vec<HeaderValue>);

/// The mark of a request from a page of an allowed origin.
#[derive(Debug, Clone, Copy)]
struct IsAllowed;

impl AllowedOrigins {
    /// Returns these origins, or `Err` with the text that is not an origin.
    pub(crate) fn new(origins: Vec<String>) -> Result<Self, String> {
        let read = |origin: String| {
            let value = HeaderValue::try_from(&origin).ok();
            value.filter(|_| is_origin(&origin)).ok_or(origin)
        };
        origins.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn all(&self) -> &[HeaderValue] {
        &self.0
    }

    /// Marks a request from a page of this origin, if the origin is allowed.
    pub(crate) fn mark(&self, origin: &HeaderValue, request: &mut Extensions) {
        if self.0.contains(origin) {
            request.insert(IsAllowed);
        }
    }
}

/// Returns `true` if the request was marked as coming from an allowed origin.
pub(crate) fn is_allowed(parts: &Parts) -> bool {
    parts.extensions.get::<IsAllowed>().is_some()
}

/// Returns `true` for an origin as browsers write it and [`ServiceBuilder::origins`](crate::ServiceBuilder::origins) accepts it: a scheme, a host,
/// and a port unless it is the default port of the scheme.
///
/// # Examples
///
/// ```
/// assert!(forgeline::server::is_origin("https://app.example"));
/// assert!(!forgeline::server::is_origin("*"));
/// ```
#[must_use]
pub fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_sign =
        |sign: u8| sign.is_ascii_lowercase() || sign.is_ascii_digit() || b"-.:[]".contains(&sign);
    host.is_some_and(|host| !host.is_empty() && host.bytes().all(is_sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_as_browsers_write_it() {
        for origin in ["https://app.example", "http://localhost:5173", "http://[::1]:80"] {
            assert!(AllowedOrigins::new(vec![origin.to_owned()]).is_ok(), "{origin}");
        }
        for other in ["*", "null", "app.example", "https://", "https://a/", "https://A.example"] {
            assert_eq!(AllowedOrigins::new(vec![other.to_owned()]).unwrap_err(), other);
        }
    }
}
