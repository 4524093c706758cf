//! The time limits of an exchange.

use std::time::Duration;

use forgeline_types::setters;

/// The time limits of an exchange with a provider. Zero means no limit.
///
/// Exceeding a limit is a [`ProviderError::Timeout`](crate::ProviderError::Timeout) that names it. Only a connection timeout
/// is retried; each timeout is an outage, so that a [`Failover`](crate::Failover) asks its next
/// provider. Exceeding [`after_finish`](Self::after_finish) or [`error_body`](Self::error_body) is not an
/// error: what has arrived by then counts.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use forgeline::llm::Timeouts;
///
/// let patient = Timeouts::default().first_byte(Duration::from_mins(20));
/// assert_eq!(patient.idle, Duration::from_mins(2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// The maximum time to connect. Default: 10 s. Applies to the library's own transport; a client
    /// or a [transport](super) that you provide has its own.
    pub connect: Duration,
    /// The maximum time from sending the request to the head of the response. Default: none, because
    /// some servers send the head only with the first content; `first_byte` covers this time too.
    pub headers: Duration,
    /// The maximum time from sending the request to the first byte of the body. Default: 5 min,
    /// because a local server may take long to read a prompt. For a server on this machine, each 256 bytes
    /// of the request add one second, also to `idle` and `content` until the answer begins; llama.cpp reports its
    /// progress as well, if [`Request::extra`](crate::Request::extra) has `return_progress`.
    pub first_byte: Duration,
    /// The maximum time between two reads of the body; comments count as reads. Default: 2 min.
    pub idle: Duration,
    /// The maximum time between two pieces of the answer, from the first byte on; comments, pings and
    /// whitespace do not count. Default: 10 min, because a local server may send comments while it
    /// reads a long prompt.
    pub content: Duration,
    /// The maximum time for the rest of the body once the answer is complete, such as for its usage.
    /// Default: 2 s.
    pub after_finish: Duration,
    /// The maximum time for the body of an error status, which explains the error. Default: 2 s.
    pub error_body: Duration,
    /// The maximum time for the whole exchange, including retries and the delays between
    /// them. Default: 1 h.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_mins(5),
            idle: Duration::from_mins(2),
            content: Duration::from_mins(10),
            total: Duration::from_hours(1),
            ..Self::NONE
        }
    }
}

impl Timeouts {
    /// No limits on the wait for an answer. The limits of 2 s after its end and for the body of an error stay,
    /// since no part of an answer arrives then.
    pub const NONE: Self = Self {
        connect: Duration::ZERO,
        headers: Duration::ZERO,
        first_byte: Duration::ZERO,
        idle: Duration::ZERO,
        content: Duration::ZERO,
        after_finish: Duration::from_secs(2),
        error_body: Duration::from_secs(2),
        total: Duration::ZERO,
    };

    setters! {
        Timeouts:
        connect(Duration),
        headers(Duration),
        first_byte(Duration),
        idle(Duration),
        content(Duration),
        after_finish(Duration),
        error_body(Duration),
        total(Duration),
    }
}
