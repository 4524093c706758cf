//! Error status responses.

use std::{fmt, time::Duration};

use super::RefusedContent;
use forgeline_types::{ErrorCode, Text};

/// A response with an error status, and the information in its body.
///
/// # Examples
///
/// ```
/// use forgeline::{llm::{ProviderError, StatusError}, types::ErrorCode};
///
/// let error = ProviderError::from(StatusError::new(429, ErrorCode::RateLimited, "too fast"));
/// assert!(error.is_retryable());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusError {
    /// The HTTP status.
    pub status: u16,
    /// The kind of failure.
    pub kind: ErrorCode,
    /// The vendor's message, or a summary of the body; at most 500 characters.
    pub message: Text,
    /// The vendor's code or type, if it sent one.
    pub code: Option<Text>,
    /// The server's id of the request, for its support team.
    pub request_id: Option<Text>,
    /// The delay that the server asks for.
    pub retry_after: Option<Duration>,
    /// `true` if the server says that the request should be retried, `false` if it says that it
    /// should not; either takes precedence over the status.
    pub should_retry: Option<bool>,
    /// The part of the request that the server refused, if the error names one.
    pub refused: Option<RefusedContent>,
}

impl StatusError {
    /// Creates a failure about which only the status is known.
    #[must_use]
    pub fn new(status: u16, kind: ErrorCode, message: impl Into<Text>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
            code: None,
            request_id: None,
            retry_after: None,
            should_retry: None,
            refused: None,
        }
    }

    /// Returns `true` if the same request may succeed when sent again.
    pub(super) fn is_retryable(&self) -> bool {
        let passes = || self.kind != ErrorCode::Auth && !self.is_about_request();
        let by_status = || matches!(self.status, 408 | 409 | 429 | 500..) && passes();
        // The server knows better, except that a used-up quota stays used up.
        self.kind != ErrorCode::QuotaExhausted && self.should_retry.unwrap_or_else(by_status)
    }

    /// Returns `true` for an outage of the server.
    pub(super) fn is_outage(&self) -> bool {
        matches!(self.status, 429 | 500..) && !self.is_about_request()
    }

    fn is_about_request(&self) -> bool {
        use ErrorCode::{ContentFiltered, ContextExceeded, InvalidRequest};
        // The server may answer 500 to what it cannot read.
        self.refused.is_some()
            || matches!(self.kind, ContextExceeded | ContentFiltered | InvalidRequest)
    }
}

impl fmt::Display for StatusError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, message, .. } = self;
        write!(formatter, "the server answered {status}: {}", with_remedy(message, self.kind))
    }
}

/// Returns the words of a server followed by what to do about a failure of this kind; unchanged where only the server's words say it.
pub(super) fn with_remedy(message: &str, kind: ErrorCode) -> String {
    let remedy = if kind == ErrorCode::Auth {
        "check the API key"
    } else if kind == ErrorCode::QuotaExhausted {
        "the account's quota is used up: raise it, or use another account"
    } else if kind == ErrorCode::RateLimited {
        "wait, or send fewer requests"
    } else if kind == ErrorCode::Overloaded {
        "try again later"
    } else {
        return message.to_owned();
    };
    if !message.ends_with(['.', '!', '?']) {
        return format!("{message}; {remedy}");
    }
    let mut letters = remedy.chars();
    let first = letters.next().map_or(' ', |letter| letter.to_ascii_uppercase());
    format!("{message} {first}{}.", letters.as_str())
}
