//! Error statuses.

use std::{fmt, time::Duration};

use crate::types::{ErrorCode, Text};

/// An error status and the words of its body.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusError {
    /// The HTTP status.
    pub status: u16,
    /// The kind of failure.
    pub kind: ErrorCode,
    /// The vendor's message, or a summary of the body; at most 500 characters.
    pub message: Text,
    /// The vendor's code or type, when it sent one.
    pub code: Option<Text>,
    /// The server's id of the request, for its support.
    pub request_id: Option<Text>,
    /// The time that the server asks to wait.
    pub retry_after: Option<Duration>,
    /// `true` if the server says that the request should be sent again, `false` if it says that it
    /// should not; either counts for more than the status.
    pub should_retry: Option<bool>,
}

impl StatusError {
    /// Creates a failure of which only the status is known.
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
        }
    }

    /// Returns `true` when the same request may succeed if sent again.
    pub(super) fn is_retryable(&self) -> bool {
        let passes = || self.kind != ErrorCode::Auth && !self.is_about_request();
        let by_status = || matches!(self.status, 408 | 409 | 429 | 500..) && passes();
        // The server knows better, but a quota that is used up stays so.
        self.kind != ErrorCode::QuotaExhausted && self.should_retry.unwrap_or_else(by_status)
    }

    /// Returns `true` when the server is out.
    pub(super) fn is_outage(&self) -> bool {
        matches!(self.status, 429 | 500..) && !self.is_about_request()
    }

    fn is_about_request(&self) -> bool {
        use ErrorCode::{ContentFiltered, ContextExceeded, InvalidRequest};
        matches!(self.kind, ContextExceeded | ContentFiltered | InvalidRequest)
    }
}

impl fmt::Display for StatusError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the server answered {}: {}", self.status, self.message)?;
        if self.kind == ErrorCode::Auth {
            formatter.write_str("; check the API key")?;
        } else if self.kind == ErrorCode::QuotaExhausted {
            formatter.write_str("; the account's quota is used up")?;
        }
        Ok(())
    }
}
