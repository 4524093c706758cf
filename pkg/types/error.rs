//! The error that leaves an agent.

use serde::{Deserialize, Serialize};

use super::{Text, setters};

/// Kind of failure of an [`AgentError`]; the names on the wire are in snake case.
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
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The server could not be reached.
    Connect,
    /// A configured time passed.
    Timeout,
    /// The server answered with an error status without a code here.
    Status,
    /// Too many requests for now.
    RateLimited,
    /// The account's quota or credit is used up.
    QuotaExhausted,
    /// The server is overloaded.
    Overloaded,
    /// The conversation does not fit the model's context.
    ContextExceeded,
    /// A content filter refused.
    ContentFiltered,
    /// The key is missing, wrong or not allowed.
    Auth,
    /// The server rejected the request as it was made.
    InvalidRequest,
    /// The body could not be decoded.
    Decode,
    /// The body ended before its protocol's end.
    EndedEarly,
    /// The server reported an error inside a started stream.
    InStream,
    /// The run was cancelled.
    Cancelled,
    /// The provider lacks something that the request needs.
    Unsupported,
    /// A limit of the agent was reached.
    MaxTurns,
    /// The budget of a run is spent.
    Budget,
    /// The input of a run cannot be taken, such as one whose deadline has passed.
    InvalidInput,
    /// The same failure, or the same text of the model, came back too often.
    CircuitBreaker,
    /// The agent was shut down.
    Shutdown,
    /// The journal of the agent failed, or cannot be gone on with.
    Journal,
    /// A run would wait for itself: its agent was asked from inside one of its own tools or prompt parts.
    Deadlock,
    /// A fault inside a component, such as a panic that was caught.
    Internal,
}

/// A failure, as an event and as the end of a run: plain data without secrets.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentError, ErrorCode};
///
/// let error = AgentError::new(ErrorCode::Overloaded, "the server is at capacity").retryable(true);
/// assert_eq!(error.to_string(), "the server is at capacity");
/// ```
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
}

impl AgentError {
    /// Creates an error that a retry does not help.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<Text>) -> Self {
        Self { code, message: message.into(), retryable: false }
    }

    setters! {
        AgentError:
        retryable(bool),
    }
}
