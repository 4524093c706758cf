//! The log entry of each request: its route, its outcome and its duration, but none of its content.

use std::sync::Arc;

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::ServiceMetrics;
use forgeline_store::private::new_id;
use forgeline_types::Text;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Maximum length of a request id set by a proxy, in bytes.
const MAX_REQUEST_ID: usize = 64;

/// Gives a request an id, and logs its end.
pub(crate) async fn log_request(
    State(metrics): State<Arc<ServiceMetrics>>,
    request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let id = given(request.headers()).unwrap_or_else(|| new_id("req-"));
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let route = Text::from(route.unwrap_or("other"));
    let run = request.uri().path().strip_prefix("/v1/runs/");
    let run = Text::from(run.and_then(|rest| rest.split('/').next()).unwrap_or_default());
    let method = request.method().clone();
    let span = tracing::info_span!(target: "forgeline::server", "request", request_id = %id);
    let mut response = next.run(request).instrument(span).await;
    let status = response.status().as_u16();
    metrics.answered(&route, status);
    let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(
        target: "forgeline::server", request_id = %id, %method, %route, status, millis,
        run_id = shown(&run), "answered"
    );
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Returns the id that a proxy set, if it is safe in a log.
fn given(headers: &HeaderMap) -> Option<Text> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    is_plain(id, MAX_REQUEST_ID).then(|| id.into())
}

/// Returns the id of a run, if it is valid.
fn shown(id: &str) -> Option<&str> {
    is_plain(id, 100).then_some(id)
}

fn is_plain(id: &str, most: usize) -> bool {
    let is_sign = |sign: u8| sign.is_ascii_alphanumeric() || b"-_.:".contains(&sign);
    !id.is_empty() && id.len() <= most && id.bytes().all(is_sign)
}
