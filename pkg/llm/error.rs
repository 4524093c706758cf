//! Why a provider's answer did not come, or not whole.

use std::{error::Error as StdError, fmt, time::Duration};

use super::sse::DecodeError;
use crate::types::{AgentError, Completion, ErrorCode, Json, Text};

/// Why a provider's answer did not come, or not whole.
///
/// `Display` describes this level only; the cause is in [`source`](StdError::source). No variant
/// holds a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The server could not be reached, or the connection broke.
    #[error("cannot reach {host}; check the address and that the server runs")]
    Connect {
        /// Host and port.
        host: Text,
        /// The HTTP client's error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A configured time passed.
    #[error("{which} timed out after {after:?}")]
    Timeout {
        /// Which wait it was.
        which: TimeoutKind,
        /// The time in force.
        after: Duration,
    },
    /// The server answered with an error status.
    #[error("{0}")]
    Status(Box<StatusError>),
    /// The body could not be decoded.
    #[error("the response body cannot be decoded at byte {offset}: {reason}")]
    Decode {
        /// Where, in bytes from the start of the body.
        offset: u64,
        /// What is wrong there.
        reason: Text,
    },
    /// The body ended before its protocol's end.
    #[error("the response ended early, after {received} bytes; what had arrived is kept")]
    EndedEarly {
        /// Bytes of the body received in all.
        received: u64,
    },
    /// The connection broke inside the body.
    #[error("reading the response failed after {received} bytes")]
    Body {
        /// Bytes of the body received in all.
        received: u64,
        /// The HTTP client's error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server reported an error inside a started stream.
    #[error("the server reported an error in the stream: {message}")]
    InStream {
        /// What kind of failure the vendor's words mean; [`ErrorCode::InStream`] when unknown.
        kind: ErrorCode,
        /// The vendor's code or type, when it sent one.
        code: Option<Text>,
        /// The vendor's message.
        message: Text,
        /// The error object as the vendor sent it.
        raw: Option<Json>,
    },
    /// The answer broke off after something of it had arrived; only calls that wait for the whole
    /// answer fail so.
    #[error("the answer broke off; what had arrived is kept in the error")]
    Aborted {
        /// What had arrived.
        partial: Box<Completion>,
        /// What happened.
        #[source]
        source: Box<ProviderError>,
    },
    /// Every attempt failed before anything of an answer was delivered.
    #[error("gave up after {attempts} attempts")]
    RetriesExhausted {
        /// How many attempts were made.
        attempts: u32,
        /// The last failure.
        #[source]
        last: Box<ProviderError>,
    },
    /// The provider cannot hold to a feature of the schema, or the answer is not what the schema asks
    /// for.
    #[error("the schema feature {feature} is not honoured by the provider: {detail}")]
    SchemaUnsupported {
        /// Such as `oneOf`, or `structured-output`.
        feature: Text,
        /// What exactly, and where in the schema.
        detail: Text,
    },
    /// The caller cancelled.
    #[error("the request was cancelled")]
    Cancelled,
    /// The provider lacks something that the request needs; nothing was sent.
    #[error("{provider} does not support {feature}")]
    Unsupported {
        /// The provider's name.
        provider: Text,
        /// What is missing.
        feature: Text,
    },
    /// The provider is not configured to work; nothing was sent.
    #[error("{message}")]
    Config {
        /// What is wrong and what to do.
        message: Text,
    },
}

/// Which wait a [`ProviderError::Timeout`] was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeoutKind {
    /// Making the connection.
    Connect,
    /// Waiting for the response to begin.
    FirstByte,
    /// Silence between two reads of the body; comments count as reads.
    Idle,
    /// The whole exchange.
    Total,
}

impl fmt::Display for TimeoutKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Connect => "connecting",
            Self::FirstByte => "waiting for the response",
            Self::Idle => "waiting for more of the response",
            Self::Total => "the whole exchange",
        })
    }
}

/// An error status and what its body said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusError {
    /// The HTTP status.
    pub status: u16,
    /// What kind of failure it is.
    pub kind: ErrorCode,
    /// The vendor's message, or a summary of the body; at most 500 characters.
    pub message: Text,
    /// The vendor's code or type, when it sent one.
    pub code: Option<Text>,
    /// The server's id of the request, for its support.
    pub request_id: Option<Text>,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether the server says that the request should be sent again; it knows better than its status.
    pub should_retry: Option<bool>,
}

impl StatusError {
    /// A failure of which only the status is known.
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
}

impl StatusError {
    /// Whether the same request may succeed if sent again.
    fn is_retryable(&self) -> bool {
        let by_status = || matches!(self.status, 408 | 409 | 429 | 500..);
        let by_kind = || passes_by_itself(self.kind) && by_status();
        // The server knows better, but a quota that is used up stays so.
        self.kind != ErrorCode::QuotaExhausted && self.should_retry.unwrap_or_else(by_kind)
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

impl From<DecodeError> for ProviderError {
    fn from(error: DecodeError) -> Self {
        Self::Decode { offset: error.offset(), reason: Text::from(error.to_string()) }
    }
}

impl ProviderError {
    /// The kind of failure, in the vocabulary of events.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Connect { .. } | Self::Body { .. } => ErrorCode::Connect,
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::Status(status) => status.kind,
            Self::Decode { .. } => ErrorCode::Decode,
            Self::EndedEarly { .. } => ErrorCode::EndedEarly,
            Self::InStream { kind, .. } => *kind,
            Self::RetriesExhausted { last, .. } => last.code(),
            Self::Aborted { source, .. } => source.code(),
            Self::Cancelled => ErrorCode::Cancelled,
            Self::Unsupported { .. } | Self::SchemaUnsupported { .. } => ErrorCode::Unsupported,
            Self::Config { .. } => ErrorCode::InvalidRequest,
        }
    }

    /// Whether the same request may succeed if sent again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connect { .. }
            | Self::Body { .. }
            | Self::Timeout { .. }
            | Self::EndedEarly { .. } => true,
            Self::Status(status) => status.is_retryable(),
            Self::RetriesExhausted { last, .. } => last.is_retryable(),
            Self::Aborted { source, .. } => source.is_retryable(),
            Self::InStream { kind, .. } => {
                matches!(kind, ErrorCode::RateLimited | ErrorCode::Overloaded | ErrorCode::InStream)
            }
            Self::Decode { .. }
            | Self::Cancelled
            | Self::Unsupported { .. }
            | Self::SchemaUnsupported { .. }
            | Self::Config { .. } => false,
        }
    }

    /// Whether it is worth a pause and another attempt: 408, 409, 429 and 5xx, failures to connect,
    /// broken connections, and a server that reports that it is busy. A used-up quota is not, and
    /// neither is a wait that took too long already.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Timeout { which, .. } => *which == TimeoutKind::Connect,
            Self::RetriesExhausted { .. } | Self::Aborted { .. } => false,
            Self::Connect { .. }
            | Self::Body { .. }
            | Self::EndedEarly { .. }
            | Self::Status(_)
            | Self::InStream { .. }
            | Self::Decode { .. }
            | Self::Cancelled
            | Self::Unsupported { .. }
            | Self::SchemaUnsupported { .. }
            | Self::Config { .. } => self.is_retryable(),
        }
    }

    /// Whether the provider is out, so that another one should be asked: it cannot be reached, does
    /// not answer, is overloaded or lets nobody in for now (429). A request that was refused, a wrong
    /// key and an answer that cannot be read are no outage.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        match self {
            Self::RetriesExhausted { last, .. } => last.is_outage(),
            Self::Connect { .. }
            | Self::Body { .. }
            | Self::EndedEarly { .. }
            | Self::Timeout { .. } => true,
            Self::Status(status) => {
                let about_request = matches!(
                    status.kind,
                    ErrorCode::ContextExceeded
                        | ErrorCode::ContentFiltered
                        | ErrorCode::InvalidRequest
                );
                matches!(status.status, 429 | 500..) && !about_request
            }
            Self::InStream { .. } => self.is_retryable(),
            Self::Aborted { .. }
            | Self::Decode { .. }
            | Self::Cancelled
            | Self::Unsupported { .. }
            | Self::SchemaUnsupported { .. }
            | Self::Config { .. } => false,
        }
    }

    /// How long the server asks to wait before the next attempt.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::Status(status) = self.root() { status.retry_after } else { None }
    }

    /// The failure itself, without how often it was met.
    #[must_use]
    pub fn root(&self) -> &Self {
        match self {
            Self::RetriesExhausted { last, .. } => last.root(),
            Self::Aborted { source, .. } => source.root(),
            Self::Connect { .. }
            | Self::Timeout { .. }
            | Self::Status(_)
            | Self::Decode { .. }
            | Self::EndedEarly { .. }
            | Self::Body { .. }
            | Self::InStream { .. }
            | Self::SchemaUnsupported { .. }
            | Self::Cancelled
            | Self::Unsupported { .. }
            | Self::Config { .. } => self,
        }
    }

    /// What had arrived of an answer that broke off.
    #[must_use]
    pub fn partial(&self) -> Option<&Completion> {
        if let Self::Aborted { partial, .. } = self { Some(partial) } else { None }
    }

    /// The error object that the vendor sent inside the stream.
    #[must_use]
    pub fn raw(&self) -> Option<&Json> {
        match self {
            Self::InStream { raw, .. } => raw.as_ref(),
            Self::RetriesExhausted { last, .. } => last.raw(),
            Self::Aborted { source, .. } => source.raw(),
            Self::SchemaUnsupported { .. }
            | Self::Connect { .. }
            | Self::Timeout { .. }
            | Self::Status(_)
            | Self::Decode { .. }
            | Self::EndedEarly { .. }
            | Self::Body { .. }
            | Self::Cancelled
            | Self::Unsupported { .. }
            | Self::Config { .. } => None,
        }
    }

    /// The error as plain data, with its causes on one line.
    #[must_use]
    pub fn to_agent_error(&self) -> AgentError {
        let mut message = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        AgentError::new(self.code(), message).retryable(self.is_retryable())
    }
}

impl From<ProviderError> for AgentError {
    fn from(error: ProviderError) -> Self {
        error.to_agent_error()
    }
}

/// Whether a failure of this kind passes by itself.
fn passes_by_itself(kind: ErrorCode) -> bool {
    !matches!(
        kind,
        ErrorCode::QuotaExhausted
            | ErrorCode::Auth
            | ErrorCode::ContextExceeded
            | ErrorCode::ContentFiltered
            | ErrorCode::InvalidRequest
    )
}
