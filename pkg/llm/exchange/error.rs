//! Errors of providers.

use std::{error::Error as StdError, fmt, time::Duration};

use super::{StatusError, status_error::with_remedy};
use crate::sse::DecodeError;
use forgeline_types::{AgentError, Completion, ErrorCode, Json, Text};

/// The reason why a provider's answer did not arrive, or not completely.
///
/// `Display` describes this level only; the cause is in [`source`](StdError::source). No variant
/// holds a key.
///
/// # Examples
///
/// ```
/// use forgeline::llm::ProviderError;
///
/// let error = ProviderError::unsupported("acme", "images");
/// assert_eq!(error.to_string(), "acme does not support images; leave it out, or ask another provider");
/// assert!(!error.is_transient() && !error.is_outage());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The server could not be reached, or the connection broke.
    #[error("cannot reach {host}; check the address and that the server is running")]
    #[non_exhaustive]
    Connect {
        /// Host and port.
        host: Text,
        /// The underlying error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A configured time limit passed.
    #[error("{which} timed out after {after:?}; try again, or allow more time")]
    #[non_exhaustive]
    Timeout {
        /// The wait that took too long.
        which: TimeoutKind,
        /// The time limit in force.
        after: Duration,
    },
    /// The server answered with an error status.
    #[error("{0}")]
    Status(Box<StatusError>),
    /// The body could not be decoded.
    #[error(
        "the response body cannot be decoded at byte {offset}: {reason}; check that the server speaks this protocol"
    )]
    #[non_exhaustive]
    Decode {
        /// The position, in bytes from the start of the body.
        offset: u64,
        /// The fault at that position.
        reason: Text,
    },
    /// The body ended before its protocol's terminal marker.
    #[error("the response ended early, after {received} bytes; what had arrived is kept")]
    #[non_exhaustive]
    EndedEarly {
        /// The number of bytes received: of the body, or of its text where only chunks are known.
        received: u64,
    },
    /// The connection broke inside the body.
    #[error("reading the response failed after {received} bytes; try again")]
    #[non_exhaustive]
    Body {
        /// The number of bytes of the body received.
        received: u64,
        /// The underlying error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server reported an error after the stream had started.
    #[error("the server reported an error in the stream: {}", with_remedy(message, *kind))]
    #[non_exhaustive]
    InStream {
        /// The kind of failure indicated by the vendor; [`ErrorCode::InStream`] if unknown.
        kind: ErrorCode,
        /// The vendor's code or type, if it sent one.
        code: Option<Text>,
        /// The vendor's message.
        message: Text,
        /// The error object as the vendor sent it.
        raw: Option<Json>,
    },
    /// The answer broke off after part of it had arrived; only calls that wait for the whole
    /// answer fail this way.
    #[error("the answer broke off; what had arrived is kept in the error")]
    #[non_exhaustive]
    Aborted {
        /// The part that had arrived.
        partial: Box<Completion>,
        /// The cause.
        #[source]
        source: Box<ProviderError>,
    },
    /// Every attempt failed before any part of an answer was delivered.
    #[error("gave up after {attempts} attempts")]
    #[non_exhaustive]
    RetriesExhausted {
        /// The number of attempts made.
        attempts: u32,
        /// The last failure.
        #[source]
        last: Box<ProviderError>,
    },
    /// The answer is empty, truncated, refused or not JSON, or does not match its schema; the provider is not to blame.
    #[error(
        "the answer is not what its schema asks for: {problem}; ask again, or change the schema"
    )]
    #[non_exhaustive]
    InvalidAnswer {
        /// The fault, worded so that the model can correct it. For an answer of another shape, the JSON pointer of the member that does not fit, what
        /// it is, and what was expected.
        problem: Text,
        /// The answer, with its usage.
        completion: Box<Completion>,
    },
    /// The provider cannot enforce a feature of the schema.
    #[error(
        "the schema feature {feature} is not honoured by the provider: {detail}; change the schema, or ask another provider"
    )]
    #[non_exhaustive]
    SchemaUnsupported {
        /// The feature, such as `oneOf` or `structured-output`.
        feature: Text,
        /// The exact fault and its place in the schema.
        detail: Text,
    },
    /// The caller cancelled the request.
    #[error("the request was cancelled")]
    Cancelled,
    /// The provider lacks something that the request needs; nothing was sent.
    #[error("{provider} does not support {feature}; leave it out, or ask another provider")]
    #[non_exhaustive]
    Unsupported {
        /// The provider's name.
        provider: Text,
        /// The missing feature.
        feature: Text,
    },
    /// The provider panicked, which is a bug in the provider.
    #[error("the provider panicked: {message}; report it to the author of the provider")]
    #[non_exhaustive]
    Panicked {
        /// The panic message.
        message: Text,
    },
    /// The provider is not configured correctly; nothing was sent.
    #[error("{message}")]
    #[non_exhaustive]
    Config {
        /// The fault and what to do about it.
        message: Text,
    },
}

impl ProviderError {
    /// Creates the error of a host that cannot be reached.
    #[must_use]
    pub fn connect(
        host: impl Into<Text>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::Connect { host: host.into(), source: source.into() }
    }

    /// Creates the error of a time limit that passed.
    #[must_use]
    pub fn timeout(which: TimeoutKind, after: Duration) -> Self {
        Self::Timeout { which, after }
    }

    /// Creates the error of a body that cannot be decoded at this byte.
    #[must_use]
    pub fn decode(offset: u64, reason: impl Into<Text>) -> Self {
        Self::Decode { offset, reason: reason.into() }
    }

    /// Creates the error of a response that ended before its end marker.
    #[must_use]
    pub fn ended_early(received: u64) -> Self {
        Self::EndedEarly { received }
    }

    /// Creates the error of a connection that broke after this many bytes of the response.
    #[must_use]
    pub fn body(received: u64, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Body { received, source: source.into() }
    }

    /// Creates an error that the server reported in the stream, without a code; `raw` is its JSON.
    #[must_use]
    pub fn in_stream(
        kind: ErrorCode,
        message: impl Into<Text>,
        raw: impl Into<Option<Json>>,
    ) -> Self {
        Self::InStream { kind, code: None, message: message.into(), raw: raw.into() }
    }

    /// Creates the error of a request that failed at each attempt.
    #[must_use]
    pub fn retries_exhausted(attempts: u32, last: impl Into<Box<Self>>) -> Self {
        Self::RetriesExhausted { attempts, last: last.into() }
    }

    /// Creates the error of a provider that panicked.
    #[must_use]
    pub fn panicked(message: impl Into<Text>) -> Self {
        Self::Panicked { message: message.into() }
    }
}

/// The wait during which a [`ProviderError::Timeout`] occurred.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use forgeline::llm::{ProviderError, TimeoutKind};
///
/// let error = ProviderError::timeout(TimeoutKind::Idle, Duration::from_secs(60));
/// assert!(matches!(error, ProviderError::Timeout { which: TimeoutKind::Idle, .. }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeoutKind {
    /// Waiting for the request's turn behind others, before anything is sent; see [`Limited`](crate::Limited).
    Turn,
    /// Making the connection.
    Connect,
    /// Waiting for the head of the response.
    Headers,
    /// Waiting for the response to begin.
    FirstByte,
    /// Silence between two reads of the body; comments count as reads.
    Idle,
    /// Silence between two pieces of the answer; comments and pings do not count.
    Content,
    /// The whole exchange.
    Total,
}

impl fmt::Display for TimeoutKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Turn => "waiting for its turn",
            Self::Connect => "connecting",
            Self::Headers => "waiting for the head of the response",
            Self::FirstByte => "waiting for the response",
            Self::Idle => "waiting for more of the response",
            Self::Content => "waiting for more of the answer",
            Self::Total => "the whole exchange",
        })
    }
}

impl From<DecodeError> for ProviderError {
    fn from(error: DecodeError) -> Self {
        Self::Decode { offset: error.offset(), reason: Text::from(error.to_string()) }
    }
}

impl From<StatusError> for ProviderError {
    fn from(error: StatusError) -> Self {
        Self::Status(Box::new(error))
    }
}

impl ProviderError {
    /// Creates the error of a provider that lacks a feature; nothing was sent.
    #[must_use]
    pub fn unsupported(provider: impl Into<Text>, feature: impl Into<Text>) -> Self {
        Self::Unsupported { provider: provider.into(), feature: feature.into() }
    }

    /// Creates the error of a provider or request that cannot work as configured; nothing was sent.
    #[must_use]
    pub fn config(message: impl Into<Text>) -> Self {
        Self::Config { message: message.into() }
    }

    /// Returns the kind of failure, as used in events.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.nature().0
    }

    /// Returns `true` if the same request may succeed when sent again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.nature().1
    }

    /// Returns `true` for a failure that is worth another attempt after a delay: 408, 409, 429 and 5xx,
    /// failures to connect, broken connections, and servers that report being busy. A used-up
    /// quota is not transient, and neither is a wait that already took too long.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        if let Self::Timeout { which, .. } = self {
            return *which == TimeoutKind::Connect;
        }
        self.inner().is_none() && self.is_retryable()
    }

    /// Returns `true` during an outage of the provider, when another one should be asked: it cannot be
    /// reached, does not answer, breaks the connection, is overloaded or is rate limiting (429). A rejected
    /// request, a wrong key and an answer that cannot be decoded are not outages.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        self.nature().2
    }

    /// Returns the kind of failure, whether the same request may succeed when sent again, and whether it is an
    /// outage.
    fn nature(&self) -> (ErrorCode, bool, bool) {
        match self {
            Self::Connect { .. } | Self::Body { .. } => (ErrorCode::Connect, true, true),
            Self::Timeout { .. } => (ErrorCode::Timeout, true, true),
            Self::EndedEarly { .. } => (ErrorCode::EndedEarly, true, true),
            Self::Status(status) => (status.kind, status.is_retryable(), status.is_outage()),
            Self::InStream { kind, .. } => {
                use ErrorCode::{InStream, Overloaded, RateLimited};
                let is_busy = matches!(kind, RateLimited | Overloaded | InStream);
                (*kind, is_busy, is_busy)
            }
            Self::RetriesExhausted { last, .. } => last.nature(),
            // Another provider would repeat the part that was already delivered.
            Self::Aborted { source, .. } => (source.code(), source.is_retryable(), false),
            Self::Decode { .. } => (ErrorCode::Decode, false, false),
            Self::InvalidAnswer { .. } => (ErrorCode::InvalidAnswer, false, false),
            Self::Cancelled => (ErrorCode::Cancelled, false, false),
            Self::Panicked { .. } => (ErrorCode::Internal, false, false),
            Self::Unsupported { .. } | Self::SchemaUnsupported { .. } => {
                (ErrorCode::Unsupported, false, false)
            }
            Self::Config { .. } => (ErrorCode::InvalidRequest, false, false),
        }
    }

    /// Returns the delay before the next attempt that the server asks for.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::Status(status) = self.root() { status.retry_after } else { None }
    }

    /// Returns the id that the server gave the request, for its support team.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        if let Self::Status(status) = self.root() { status.request_id.as_deref() } else { None }
    }

    /// Returns the number of requests that were made, including the one that failed last.
    #[doc(hidden)]
    pub fn attempts(&self) -> u32 {
        match self {
            Self::RetriesExhausted { attempts, .. } => *attempts,
            Self::Unsupported { .. }
            | Self::SchemaUnsupported { .. }
            | Self::Config { .. }
            | Self::Timeout { which: TimeoutKind::Turn, .. } => 0,
            Self::Aborted { source, .. } => source.attempts(),
            Self::Connect { .. }
            | Self::Timeout { .. }
            | Self::Status(_)
            | Self::Decode { .. }
            | Self::InvalidAnswer { .. }
            | Self::EndedEarly { .. }
            | Self::Body { .. }
            | Self::InStream { .. }
            | Self::Cancelled
            | Self::Panicked { .. } => 1,
        }
    }

    /// Returns the underlying failure, without the attempts and the partial answer that it is wrapped in.
    #[must_use]
    pub fn root(&self) -> &Self {
        self.inner().map_or(self, Self::root)
    }

    /// Returns the failure that this one wraps.
    fn inner(&self) -> Option<&Self> {
        if let Self::RetriesExhausted { last: inner, .. } | Self::Aborted { source: inner, .. } =
            self
        {
            Some(inner)
        } else {
            None
        }
    }

    /// Returns the part of an answer that arrived before it broke off, or the answer that does not match its schema.
    #[must_use]
    pub fn partial(&self) -> Option<&Completion> {
        if let Self::Aborted { partial: answer, .. }
        | Self::InvalidAnswer { completion: answer, .. } = self
        {
            Some(answer)
        } else {
            None
        }
    }

    /// Returns the error object that the vendor sent in the stream.
    #[must_use]
    pub fn raw(&self) -> Option<&Json> {
        if let Self::InStream { raw, .. } = self.root() { raw.as_ref() } else { None }
    }

    /// Returns the error as plain data, with its causes on one line. `AgentError::from` also keeps the error itself as the
    /// [cause](AgentError::cause).
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
        error.to_agent_error().with_cause(error)
    }
}
