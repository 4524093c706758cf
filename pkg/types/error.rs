//! The error type that leaves an agent.

use std::{error::Error, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{Text, setters};

/// The kind of an [`AgentError`]; the names on the wire are in snake case.
///
/// # Examples
///
/// ```
/// use forgeline::types::ErrorCode;
///
/// assert_eq!(serde_json::to_string(&ErrorCode::RateLimited)?, r#""rate_limited""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// The server could not be reached.
    Connect,
    /// A configured time limit passed.
    Timeout,
    /// The server answered with an error status that has no code of its own here.
    Status,
    /// The server is rate limiting.
    RateLimited,
    /// The account's quota or credit is used up.
    QuotaExhausted,
    /// The server is overloaded.
    Overloaded,
    /// The conversation does not fit the model's context.
    ContextExceeded,
    /// A content filter rejected the request or the answer.
    ContentFiltered,
    /// The model declined to answer.
    Refused,
    /// The provider could not read what the model wrote, or the answer contradicts itself.
    MalformedAnswer,
    /// The model gave no answer.
    EmptyAnswer,
    /// The answer does not match the schema that was asked for.
    InvalidAnswer,
    /// A token limit truncated the answer.
    CutAnswer,
    /// The key is missing, wrong or lacks permission.
    Auth,
    /// The server rejected the request as invalid.
    InvalidRequest,
    /// The body could not be decoded.
    Decode,
    /// The body ended before its protocol's terminal marker.
    EndedEarly,
    /// The server reported an error after the stream had started.
    InStream,
    /// The run was cancelled.
    Cancelled,
    /// The provider lacks something that the request needs.
    Unsupported,
    /// The agent's limit of turns was reached.
    MaxTurns,
    /// The run's budget is used up.
    Budget,
    /// The input of a run is not acceptable, such as one whose deadline has passed.
    InvalidInput,
    /// The same failure, or the same text of the model, was repeated too often.
    CircuitBreaker,
    /// The agent was shut down.
    Shutdown,
    /// The agent's journal failed, or cannot be continued.
    Journal,
    /// A run would wait for itself: its agent was called from inside one of its own tools or prompt parts.
    Deadlock,
    /// A fault inside a component, such as a panic that was caught.
    Internal,
}

/// A failure, as an event and as the outcome of a run: plain data without secrets.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentError, ErrorCode};
///
/// let error = AgentError::new(ErrorCode::Overloaded, "the server is at capacity").retryable(true);
/// assert_eq!(error.to_string(), "the server is at capacity");
/// ```
///
/// Two errors are equal if their data is: the cause does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct AgentError {
    /// The kind of failure.
    pub code: ErrorCode,
    /// The failure and what to do next, on one line.
    pub message: Text,
    /// `true` if the same request may succeed when sent again.
    pub retryable: bool,
    #[serde(skip)]
    cause: ErrorCause,
}

/// The error from which an [`AgentError`] was made, in the process where it occurred.
#[derive(Clone, Default)]
struct ErrorCause(Option<Arc<dyn Error + Send + Sync>>);

impl PartialEq for ErrorCause {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ErrorCause {}

impl fmt::Debug for ErrorCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The message says what happened.
        formatter.write_str(if self.0.is_some() { "Some(..)" } else { "None" })
    }
}

impl AgentError {
    /// Creates an error that is not retryable.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<Text>) -> Self {
        Self { code, message: message.into(), retryable: false, cause: ErrorCause(None) }
    }

    setters! {
        AgentError:
        retryable(bool),
    }

    /// Keeps the error from which this one was made. It is not written with the data.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        self.cause = ErrorCause(Some(Arc::new(cause)));
        self
    }

    /// Returns the error from which this one was made, if it was in this process; its message is a part of this one's.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.cause.0.as_deref()
    }
}
