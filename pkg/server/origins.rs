//! Pages of other origins that may ask.

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderName, HeaderValue, Method, header, request::Parts},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::Service;

/// Headers that a page of another origin may send.
const SENT: [&str; 14] = [
    "authorization",
    "content-type",
    "idempotency-key",
    "if-none-match",
    "last-event-id",
    "producer-epoch",
    "producer-id",
    "producer-seq",
    "stream-closed",
    "stream-expires-at",
    "stream-seq",
    "stream-ttl",
    "x-request-id",
    "accept",
];

/// Headers of answers that it may read.
const READ: [&str; 10] = [
    "etag",
    "producer-expected-seq",
    "retry-after",
    "stream-closed",
    "stream-cursor",
    "stream-next-offset",
    "stream-up-to-date",
    "x-chat-id",
    "x-request-id",
    "x-vercel-ai-ui-message-stream",
];

/// The origins of pages that may ask, besides those of the service itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Origins(Vec<HeaderValue>);

/// The mark of a request from a page whose origin is one of them.
#[derive(Debug, Clone, Copy)]
struct IsAllowed;

impl Origins {
    /// Returns these origins; `Err` with the one that is none.
    pub(super) fn new(origins: Vec<String>) -> Result<Self, String> {
        let read = |origin: String| match is_origin(&origin) {
            true => HeaderValue::try_from(&origin).map_err(|_| origin),
            false => Err(origin),
        };
        origins.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Lets pages of these origins ask, and read the answers; of none, the routes stay as they are. Credentials of the browser, such as cookies, are
    /// not sent by them.
    pub(super) fn over(&self, service: &Service, routes: Router<Service>) -> Router<Service> {
        if self.0.is_empty() {
            return routes;
        }
        let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH];
        let cors = CorsLayer::new()
            .allow_origin(AllowOrigin::list(self.0.clone()))
            .allow_methods(methods.into_iter().chain([Method::DELETE]).collect::<Vec<_>>())
            .allow_headers(SENT.map(HeaderName::from_static))
            .expose_headers(READ.map(HeaderName::from_static));
        routes.layer(from_fn_with_state(service.clone(), mark)).layer(cors)
    }
}

/// Marks a request from a page that may ask.
async fn mark(State(service): State<Service>, mut request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN);
    if origin.is_some_and(|origin| service.origins().0.contains(origin)) {
        request.extensions_mut().insert(IsAllowed);
    }
    next.run(request).await
}

/// Returns `true` when the origin of the page was allowed by name.
pub(super) fn is_allowed(parts: &Parts) -> bool {
    parts.extensions.get::<IsAllowed>().is_some()
}

/// Returns `true` for an origin as browsers write it: a scheme, a host, and a port where it is another than that of the scheme.
fn is_origin(text: &str) -> bool {
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
            assert!(Origins::new(vec![origin.to_owned()]).is_ok(), "{origin}");
        }
        for other in ["*", "null", "app.example", "https://", "https://a/", "https://A.example"] {
            assert_eq!(Origins::new(vec![other.to_owned()]).unwrap_err(), other);
        }
    }
}
