//! Responses that pages of other origins may read.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderName, Method, header},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::control::AccessControl;

/// Request headers that a page of another origin may send.
const SENT: [&str; 15] = [
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
    "x-ai-sdk-version",
    "x-request-id",
    "accept",
];

/// Response headers that such a page may read, besides the CORS-safelisted ones.
const READ: [&str; 17] = [
    "etag",
    "location",
    "producer-epoch",
    "producer-expected-seq",
    "producer-received-seq",
    "producer-seq",
    "retry-after",
    "stream-closed",
    "stream-cursor",
    "stream-expires-at",
    "stream-next-offset",
    "stream-sse-data-encoding",
    "stream-ttl",
    "stream-up-to-date",
    "x-chat-id",
    "x-request-id",
    "x-vercel-ai-ui-message-stream",
];

/// Adds CORS for the origins that the service allows; without any, returns the routes unchanged. Browser credentials, such as cookies, are not allowed.
pub(crate) fn over<S: Clone + Send + Sync + 'static>(
    access: &Arc<AccessControl>,
    routes: Router<S>,
) -> Router<S> {
    let origins = access.origins().all();
    if origins.is_empty() {
        return routes;
    }
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH];
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins.iter().cloned()))
        .allow_methods(methods.into_iter().chain([Method::DELETE]).collect::<Vec<_>>())
        .allow_headers(SENT.map(HeaderName::from_static))
        .expose_headers(READ.map(HeaderName::from_static));
    routes.layer(from_fn_with_state(Arc::clone(access), mark)).layer(cors)
}

/// Marks a request from a page of an allowed origin.
async fn mark(
    State(access): State<Arc<AccessControl>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(origin) = request.headers().get(header::ORIGIN).cloned() {
        access.origins().mark(&origin, request.extensions_mut());
    }
    next.run(request).await
}
