//! Errors in the form that vendors' clients read.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};

use super::asked::is_front;
use crate::{Problem, encode::FrontProtocol};
use forgeline_types::{AgentError, ErrorCode};

/// Tells clients whether the same request may be sent again.
const MAY_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Rewrites the errors of the routes for vendors' clients, wherever they come from.
pub(crate) async fn with_vendor_errors(request: Request, next: Next) -> Response {
    let is_front = is_front(request.uri().path());
    let mut response = next.run(request).await;
    let problem = response.extensions_mut().remove::<Problem>().filter(|_| is_front);
    if let Some(problem) = problem {
        let fields = response.headers_mut();
        fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        fields.remove(header::CONTENT_LENGTH);
        *response.body_mut() = Body::from(problem.to_vendor_error().to_string());
    }
    response
}

/// Returns the response for a run that failed before anything of its answer was sent. What its tools did stays done: clients do not repeat the request by
/// themselves.
pub(super) fn response<P: FrontProtocol>(error: &AgentError) -> Response {
    let mut response = json_response(status_of(error.code), P::failure(error));
    response.headers_mut().insert(MAY_RETRY, HeaderValue::from_static("false"));
    response
}

fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::RateLimited | ErrorCode::QuotaExhausted => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::Overloaded | ErrorCode::Shutdown => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::Cancelled => StatusCode::CONFLICT,
        ErrorCode::ContextExceeded
        | ErrorCode::InvalidInput
        | ErrorCode::InvalidRequest
        | ErrorCode::Unsupported => StatusCode::BAD_REQUEST,
        ErrorCode::Connect
        | ErrorCode::Status
        | ErrorCode::Auth
        | ErrorCode::Decode
        | ErrorCode::EndedEarly
        | ErrorCode::InStream
        | ErrorCode::ContentFiltered
        | ErrorCode::Refused
        | ErrorCode::MalformedAnswer
        | ErrorCode::EmptyAnswer
        | ErrorCode::InvalidAnswer
        | ErrorCode::CutAnswer => StatusCode::BAD_GATEWAY,
        ErrorCode::MaxTurns
        | ErrorCode::Budget
        | ErrorCode::CircuitBreaker
        | ErrorCode::Journal
        | ErrorCode::Deadlock
        | ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Returns a response with a JSON text.
pub(super) fn json_response(status: StatusCode, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
