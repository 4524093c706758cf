//! The payloads of the events around requests to a provider.

use serde::{Deserialize, Serialize};

use crate::{AgentError, Text, UsageInfo, setters};

/// The payload of [`AgentEvent::Error`](crate::AgentEvent::Error): the stream or the run failed.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentError, AgentEvent, ErrorCode, ErrorEvent};
///
/// let error = AgentError::new(ErrorCode::Overloaded, "the server is at capacity");
/// let event = AgentEvent::Error(ErrorEvent::new(error).partial(true));
/// assert_eq!(event.kind(), "error");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorEvent {
    /// The failure.
    #[serde(flatten)]
    pub error: AgentError,
    /// `true` if content had already been delivered.
    pub partial: bool,
}

impl ErrorEvent {
    /// Returns the failure of an answer of which nothing had been delivered.
    #[must_use]
    pub fn new(error: AgentError) -> Self {
        Self { error, partial: false }
    }

    setters! { ErrorEvent: partial(bool) }
}

/// The payload of [`AgentEvent::ApiCallStart`](crate::AgentEvent::ApiCallStart): a request is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApiCallStartEvent {
    /// The provider's name.
    pub provider: Text,
    /// The model's id.
    pub model: Text,
}

impl ApiCallStartEvent {
    /// Returns the start of a call of this provider.
    #[must_use]
    pub fn new(provider: impl Into<Text>, model: impl Into<Text>) -> Self {
        Self { provider: provider.into(), model: model.into() }
    }
}

/// The payload of [`AgentEvent::ApiCallEnd`](crate::AgentEvent::ApiCallEnd): the provider's answer ended.
///
/// # Examples
///
/// ```
/// use forgeline::types::ApiCallEndEvent;
///
/// let end = ApiCallEndEvent::new(1_250).first_token_ms(310);
/// assert_eq!((end.duration_ms, end.first_token_ms), (1_250, Some(310)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApiCallEndEvent {
    /// Wall-clock time of the call, in milliseconds.
    pub duration_ms: u64,
    /// Time until the first content, in milliseconds; `None` if there was none.
    pub first_token_ms: Option<u64>,
}

impl ApiCallEndEvent {
    /// Returns the end of a call that had no content.
    #[must_use]
    pub fn new(duration_ms: u64) -> Self {
        Self { duration_ms, first_token_ms: None }
    }

    /// Sets [`first_token_ms`](Self::first_token_ms).
    #[must_use]
    pub fn first_token_ms(mut self, first_token_ms: impl Into<Option<u64>>) -> Self {
        self.first_token_ms = first_token_ms.into();
        self
    }
}

/// The payload of [`AgentEvent::TokenUsage`](crate::AgentEvent::TokenUsage): tokens of the call that just ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenUsageEvent {
    /// The counts.
    pub usage: UsageInfo,
}

impl TokenUsageEvent {
    /// Returns the payload with these counts.
    #[must_use]
    pub fn new(usage: UsageInfo) -> Self {
        Self { usage }
    }
}

/// The payload of [`AgentEvent::Retry`](crate::AgentEvent::Retry): a request failed and will be sent again.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentError, ErrorCode, RetryEvent};
///
/// let error = AgentError::new(ErrorCode::Overloaded, "the server is at capacity");
/// let retry = RetryEvent::new(1, 3, error).delay_ms(500);
/// assert_eq!((retry.attempt, retry.max_attempts, retry.delay_ms), (1, 3, 500));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RetryEvent {
    /// Number of the failed attempt, from 1.
    pub attempt: u32,
    /// The maximum number of attempts.
    pub max_attempts: u32,
    /// The delay before the next attempt, in milliseconds.
    pub delay_ms: u64,
    /// The failure.
    #[serde(flatten)]
    pub error: AgentError,
}

impl RetryEvent {
    /// Returns a retry without a delay.
    #[must_use]
    pub fn new(attempt: u32, max_attempts: u32, error: AgentError) -> Self {
        Self { attempt, max_attempts, delay_ms: 0, error }
    }

    setters! { RetryEvent: delay_ms(u64) }
}

/// The payload of [`AgentEvent::Failover`](crate::AgentEvent::Failover): another provider of a chain takes over.
///
/// # Examples
///
/// ```
/// use forgeline::types::FailoverEvent;
///
/// let hop = FailoverEvent::new("anthropic", "openai", "gpt-5").position(1).length(2).reason("503");
/// assert_eq!((hop.to_model.as_str(), hop.position), ("gpt-5", 1));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailoverEvent {
    /// The provider that failed; with `position` 0, the one that had taken over.
    pub from_provider: Text,
    /// The provider that takes over; empty if an entry of the chain was skipped.
    pub to_provider: Text,
    /// The model of the provider that takes over.
    pub to_model: Text,
    /// The position in the chain of the provider that takes over, from 0.
    pub position: u32,
    /// The number of entries after the first.
    pub length: u32,
    /// The reason for leaving the previous provider.
    pub reason: String,
}

impl FailoverEvent {
    /// Returns the change to the first of a chain, without a reason.
    #[must_use]
    pub fn new(
        from_provider: impl Into<Text>,
        to_provider: impl Into<Text>,
        to_model: impl Into<Text>,
    ) -> Self {
        Self {
            from_provider: from_provider.into(),
            to_provider: to_provider.into(),
            to_model: to_model.into(),
            position: 0,
            length: 0,
            reason: String::new(),
        }
    }

    setters! { FailoverEvent: position(u32), length(u32), reason(into String) }
}
