//! Errors of the service as `application/problem+json`.

pub(crate) mod stored_problem;

use std::{borrow::Cow, error::Error, fmt};

use axum::{
    body::Body,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use forgeline_store::StoreError;
use forgeline_types::{AgentError, ErrorCode, private::clipped};

/// Maximum length of a name, id or value of a request that an error repeats, in characters.
pub(crate) const MAX_SHOWN: usize = 60;

/// Maximum length of an agent's error message, in characters: some messages repeat the request.
const MAX_DETAIL: usize = 300;

/// The message of a store that cannot be reached.
const UNREACHABLE: &str = "the store is unavailable; try again later";

/// Seconds after which a run has probably taken its pending messages.
const DELIVERED: u64 = 5;

/// An error of the service as in RFC 9457: a code for programs, and a message that says what to do, which `Display` shows.
///
/// # Examples
///
/// ```
/// use axum::{http::StatusCode, response::IntoResponse};
/// use forgeline::server::Problem;
///
/// let problem = Problem::new(StatusCode::FORBIDDEN, "not_yours", "this caller may not do that");
/// assert_eq!(problem.into_response().status(), StatusCode::FORBIDDEN);
/// ```
#[derive(Debug, Clone)]
pub struct Problem(Box<ProblemInner>);

#[derive(Debug, Clone)]
struct ProblemInner {
    status: StatusCode,
    code: Cow<'static, str>,
    detail: String,
    more: Map<String, Value>,
    retry_after: Option<u64>,
}

impl Problem {
    /// Returns an error with this status, code and message.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let (code, detail, more, retry_after) = (code.into(), detail.into(), Map::new(), None);
        Self(Box::new(ProblemInner { status, code, detail, more, retry_after }))
    }

    /// Returns the error for a request that cannot be read.
    pub(crate) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    /// Returns the error for a name that does not exist for this caller.
    pub(crate) fn not_found(what: &str, id: &str) -> Self {
        let id = clipped(id, MAX_SHOWN);
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {what} `{id}`"))
    }

    /// Returns the refusal of an answer whose caller may not use the tool; the request stays open.
    pub(crate) fn not_permitted(id: &str) -> Self {
        let detail = format!(
            "this caller may not use the tool of `{id}`, which stays open; answer it with a token that may"
        );
        Self::new(StatusCode::FORBIDDEN, "not_permitted", detail)
    }

    /// Returns the error of a service without free capacity.
    pub(crate) fn busy(detail: &str, seconds: u64) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).retry_after(seconds)
    }

    pub(crate) fn code(&self) -> &str {
        &self.0.code
    }

    /// Returns the body in the form that vendors' clients read.
    pub(crate) fn to_vendor_error(&self) -> Value {
        let ProblemInner { status, code, detail, more, .. } = &*self.0;
        let kind = match status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            _ => "server_error",
        };
        let param = more.get("param");
        json!({ "error": { "message": detail, "type": kind, "param": param, "code": code } })
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.0.status == StatusCode::NOT_FOUND
    }

    /// Returns `true` for an error that asks the caller to try again later.
    pub(crate) fn is_busy(&self) -> bool {
        self.0.status == StatusCode::SERVICE_UNAVAILABLE
    }

    /// Returns the error of a store that stays unusable until the operator intervenes; the logs contain the reasons.
    fn unusable() -> Self {
        let detail = "the store cannot be used; the reason is in the service's logs";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "store_unusable", detail)
    }

    /// Sets the `Retry-After` header, in seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.0.retry_after = Some(seconds);
        self
    }

    /// Adds a member for programs.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.more.insert(key.to_owned(), value.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.detail)
    }
}

impl Error for Problem {}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            // The logs that callers read are those of runs.
            StoreError::NotFound { what: "log", name, .. } => Self::not_found("run", &name),
            StoreError::NotFound { what, name, .. } => Self::not_found(what, &name),
            StoreError::Retired { name, .. } => {
                let detail = format!("the events of run `{name}` are no longer available");
                Self::new(StatusCode::GONE, "log_retired", detail)
            }
            StoreError::Dropped { what: "log", name, first, .. } => {
                let detail = format!(
                    "the events of run `{name}` before {first} are no longer available; read from {first} on"
                );
                Self::new(StatusCode::GONE, "log_retired", detail)
            }
            StoreError::Dropped { first, .. } => {
                let detail = format!("the items before {first} were dropped; read from {first} on");
                Self::new(StatusCode::GONE, "dropped", detail)
            }
            StoreError::Behind { what: "log", name, end, .. } => {
                let detail = format!(
                    "run `{name}` has no such event yet; read from an event that you have received, or from the beginning"
                );
                let problem = Self::new(StatusCode::CONFLICT, "log_behind", detail);
                problem.with("last_event_id", end.checked_sub(1))
            }
            error @ StoreError::Fenced { .. } => {
                tracing::warn!(%error, "a run is no longer written here");
                Self::busy("the run has moved to another process; try again later", 1)
            }
            error @ StoreError::BadCursor { .. } => Self::bad(error.to_string()),
            error @ (StoreError::Exists { what: "log", .. }
            | StoreError::Ended { what: "log", .. }) => {
                tracing::error!(%error, "the event log failed");
                Self::busy("the event log is unavailable; try again later", 5)
            }
            error @ (StoreError::Exists { .. }
            | StoreError::Ended { .. }
            | StoreError::Behind { .. }) => {
                Self::new(StatusCode::CONFLICT, "conflict", error.to_string())
            }
            // The reasons are for the operator of the service.
            error @ StoreError::Full { .. } => {
                tracing::error!(%error, "the store is full");
                let detail = "the store is full; the operator has to make room";
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "store_full", detail)
            }
            error @ StoreError::ReadOnly { .. } => {
                tracing::error!(%error, "the store cannot be written");
                let detail =
                    "the store is read-only; the operator finds the reason in the service's logs";
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "store_read_only", detail)
            }
            error @ (StoreError::Newer { .. } | StoreError::Corrupt { .. }) => {
                tracing::error!(%error, "the store cannot be used");
                Self::unusable()
            }
            error @ (StoreError::Slow { .. } | StoreError::Unavailable { .. } | _) => {
                tracing::error!(%error, "the store failed");
                Self::busy(UNREACHABLE, 5)
            }
        }
    }
}

impl From<AgentError> for Problem {
    fn from(error: AgentError) -> Self {
        if error.code == ErrorCode::Shutdown {
            return Self::new(StatusCode::NOT_FOUND, "not_found", "the run has ended");
        }
        if error.code == ErrorCode::Journal {
            tracing::error!(%error, "the journal of a conversation cannot be continued");
            return Self::unusable();
        }
        if error.code == ErrorCode::RateLimited {
            let detail = clipped(&error.message, MAX_DETAIL);
            let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_wait", detail);
            return problem.retry_after(DELIVERED);
        }
        // The caller can repair these.
        let is_refusal = matches!(
            error.code,
            ErrorCode::InvalidInput | ErrorCode::InvalidRequest | ErrorCode::Unsupported
        );
        if is_refusal {
            return Self::bad(clipped(&error.message, MAX_DETAIL));
        }
        tracing::error!(%error, "the agent failed");
        let detail = "the agent failed; the reason is in the service's logs";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        // For routes whose errors have another form.
        let kept = self.clone();
        let ProblemInner { status, code, detail, mut more, retry_after } = *self.0;
        let title = status.canonical_reason().unwrap_or("Error");
        more.insert("type".into(), format!("about:blank#{code}").into());
        more.insert("code".into(), code.into());
        more.insert("title".into(), title.into());
        more.insert("status".into(), status.as_u16().into());
        more.insert("detail".into(), detail.into());
        let mut response = Response::builder()
            .status(status)
            .header(header::CONTENT_TYPE, "application/problem+json")
            .header(header::CACHE_CONTROL, "no-store");
        if let Some(seconds) = retry_after {
            response = response.header(header::RETRY_AFTER, seconds);
        }
        if status == StatusCode::UNAUTHORIZED {
            response = response.header(header::WWW_AUTHENTICATE, "Bearer");
        }
        let body = Body::from(json!(more).to_string());
        let mut response = response.body(body).unwrap_or_else(|_| status.into_response());
        response.extensions_mut().insert(kept);
        response
    }
}

#[cfg(test)]
mod tests;
