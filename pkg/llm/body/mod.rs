//! The driver of a response body, which reads it within the time limits.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Instant, Sleep};

use super::{
    BodyDecoder, Progress, ProviderError, StreamChunk, TimeoutKind, decode::Decoding,
    transport::TransportError,
};
use crate::types::setters;

/// The maximum time for the rest of a body once the server has reported an error.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// The number of reads without waiting after which the clock is checked anyway.
const READS_UNTIMED: u32 = 1024;

/// The time limits of an exchange with a provider. Zero means no limit.
///
/// Exceeding a limit is a [`ProviderError::Timeout`] that names it. Only a connection timeout
/// is retried; each timeout is an outage, so that a [`Failover`](super::Failover) asks its next
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
    /// or a [transport](super::transport) that you provide has its own.
    pub connect: Duration,
    /// The maximum time from sending the request to the head of the response. Default: none, because
    /// some servers send the head only with the first content; `first_byte` covers this time too.
    pub headers: Duration,
    /// The maximum time from sending the request to the first byte of the body. Default: 5 min,
    /// because a local server may take long to read a prompt. For a server on this machine, each 256 bytes
    /// of the request add one second, also to `idle` and `content` until the answer begins; llama.cpp reports its
    /// progress as well, if [`Request::extra`](super::Request::extra) has `return_progress`.
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

    /// Returns the limits extended by `prefill`, the time for which a server may read the prompt before the answer begins.
    #[cfg(feature = "http")]
    pub(super) fn with_prefill(mut self, prefill: Duration) -> Self {
        for limit in [&mut self.first_byte, &mut self.idle, &mut self.content] {
            if !limit.is_zero() {
                *limit = limit.saturating_add(prefill);
            }
        }
        self
    }
}

/// A deadline and what passing it means.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    pub(super) at: Instant,
    pub(super) which: TimeoutKind,
    pub(super) after: Duration,
}

impl Deadline {
    /// Creates a deadline; `None` if `after` is zero, or too long to represent.
    pub(super) fn new(start: Instant, which: TimeoutKind, after: Duration) -> Option<Self> {
        let at = start.checked_add(after).filter(|_| !after.is_zero())?;
        Some(Self { at, which, after })
    }

    pub(super) fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.at < one.at { other } else { one }),
            (one, other) => one.or(other),
        }
    }

    pub(super) fn error(self) -> ProviderError {
        ProviderError::Timeout { which: self.which, after: self.after }
    }
}

/// A wait for the next data.
#[derive(Debug, Clone, Copy)]
enum Wait {
    /// Not begun; the next check of the deadlines begins it.
    Next,
    /// Begun; ends at the deadline, if there is one.
    Begun(Option<Deadline>),
}

impl Wait {
    /// Begins the wait if it has not begun, and returns its deadline.
    fn until(&mut self, which: TimeoutKind, after: Duration, now: Instant) -> Option<Deadline> {
        if let Self::Begun(until) = *self {
            return until;
        }
        let until = Deadline::new(now, which, after);
        *self = Self::Begun(until);
        until
    }
}

/// The chunks of one response.
pub(crate) struct BodyChunks<S, D> {
    body: Option<S>,
    decoding: Decoding<D>,
    timeouts: Timeouts,
    /// The limits that apply once the answer begins, if they differ.
    once_begun: Option<Timeouts>,
    total: Option<Deadline>,
    /// The wait for the next read.
    read: Wait,
    /// The wait for the next content, or after the end of the answer, for the end of the body.
    content: Wait,
    /// `true` until a check of the deadlines finds that the answer is over.
    is_open: bool,
    reads: u32,
    /// Created at the first wait; a stream that never waits has no timer.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S, D> BodyChunks<S, D>
where
    S: Stream<Item = Result<Bytes, TransportError>> + Unpin,
    D: BodyDecoder,
{
    /// Reads `body`, requested at `start`, until `total` at the latest.
    pub(crate) fn new(
        body: S,
        decoding: Decoding<D>,
        timeouts: Timeouts,
        start: Instant,
        total: Option<Deadline>,
    ) -> Self {
        Self {
            body: Some(body),
            decoding,
            timeouts,
            once_begun: None,
            total,
            read: Wait::Begun(Deadline::new(start, TimeoutKind::FirstByte, timeouts.first_byte)),
            content: Wait::Begun(None),
            is_open: true,
            reads: 0,
            timer: None,
        }
    }

    /// Sets the limits that apply once the answer begins.
    #[cfg(feature = "http")]
    pub(crate) fn once_begun(mut self, timeouts: Timeouts) -> Self {
        self.once_begun = Some(timeouts).filter(|timeouts| *timeouts != self.timeouts);
        self
    }

    fn read(&mut self, bytes: &[u8]) {
        self.decoding.read(bytes);
        if self.once_begun.is_some() && self.decoding.delivers() {
            self.timeouts = self.once_begun.take().unwrap_or(self.timeouts);
        }
        self.read = Wait::Next;
        if self.reads == 0 || self.is_open && self.decoding.has_chunks() {
            self.content = Wait::Next;
        }
        // A server that always has data ready never causes a wait.
        self.reads = self.reads.wrapping_add(1);
        if self.reads.is_multiple_of(READS_UNTIMED) {
            self.check_deadline();
        }
    }

    #[cold]
    fn check_deadline(&mut self) {
        if let Some(deadline) = self.deadline().filter(|deadline| Instant::now() >= deadline.at)
            && !self.decoding.is_over()
        {
            self.decoding.end_by(deadline.error());
        }
    }

    /// Begins the waits that have not begun, and returns the earliest deadline.
    fn deadline(&mut self) -> Option<Deadline> {
        let progress = self.decoding.progress();
        if self.is_open && progress != Progress::Open {
            (self.is_open, self.content) = (false, Wait::Next);
        }
        let (idle, content) = match progress {
            Progress::Open => (self.timeouts.idle, self.timeouts.content),
            Progress::Failed => (AFTER_ERROR, AFTER_ERROR),
            Progress::Complete | Progress::Done => {
                (self.timeouts.after_finish, self.timeouts.after_finish)
            }
        };
        let now = Instant::now();
        let read = self.read.until(TimeoutKind::Idle, idle, now);
        let content = self.content.until(TimeoutKind::Content, content, now);
        Deadline::earlier(self.total, Deadline::earlier(read, content))
    }

    /// Checks the deadlines while there is nothing to read.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<ProviderError> {
        let Some(next) = self.deadline() else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(next.at)));
        // The timer may fire early: it is reset when it fires, not at every read.
        if timer.deadline() > next.at {
            timer.as_mut().reset(next.at);
        }
        loop {
            ready!(timer.as_mut().poll(context));
            if timer.deadline() >= next.at {
                return Poll::Ready(next.error());
            }
            timer.as_mut().reset(next.at);
        }
    }
}

impl<S, D> Stream for BodyChunks<S, D>
where
    S: Stream<Item = Result<Bytes, TransportError>> + Unpin,
    D: BodyDecoder + Unpin,
{
    type Item = Result<StreamChunk, ProviderError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(item) = this.decoding.next() {
                return Poll::Ready(Some(item));
            }
            if this.decoding.is_over() {
                // Closes the connection.
                this.body = None;
            }
            let Some(body) = &mut this.body else { return Poll::Ready(None) };
            match Pin::new(body).poll_next(context) {
                Poll::Ready(Some(Ok(bytes))) => this.read(&bytes),
                Poll::Ready(Some(Err(error))) => {
                    let error = error.into_provider_error(this.decoding.received());
                    this.decoding.end(Some(error));
                }
                Poll::Ready(None) => this.decoding.end(None),
                // The rest does not matter; an end that has already arrived lets the connection be reused.
                Poll::Pending if this.decoding.progress() == Progress::Done => {
                    this.decoding.end(None);
                }
                Poll::Pending => {
                    let error = ready!(this.poll_deadline(context));
                    this.decoding.end(Some(error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
