//! The driver of a response body: reads its bytes within the time limits.

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

/// The longest time for the rest of a body once the server has reported an error.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// The time limits of an exchange with a provider. Zero means no limit.
///
/// A limit that passes is a [`ProviderError::Timeout`] that names it. Only a connection that took too long is retried; each is
/// an outage, so that a [`Failover`](super::Failover) asks its next provider.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use forgeline::llm::Timeouts;
///
/// let patient = Timeouts::default().first_byte(Duration::from_mins(20)).total(Duration::from_hours(1));
/// assert_eq!(patient.idle, Duration::from_mins(2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// The longest time to connect. Default: 10 s. It holds for the library's own transport; a client
    /// or a [transport](super::transport) that you bring has its own.
    pub connect: Duration,
    /// The longest time from sending the request to the first byte of the body. Default: 5 min,
    /// because a local server may read a long prompt slowly.
    pub first_byte: Duration,
    /// The longest silence between two reads of the body; comments count as reads. Default: 2 min.
    pub idle: Duration,
    /// The longest time for the whole exchange, further attempts and the waits between them
    /// included. Default: zero, no limit.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_mins(5),
            idle: Duration::from_mins(2),
            total: Duration::ZERO,
        }
    }
}

impl Timeouts {
    /// No limits.
    pub const NONE: Self = Self {
        connect: Duration::ZERO,
        first_byte: Duration::ZERO,
        idle: Duration::ZERO,
        total: Duration::ZERO,
    };

    setters! {
        Timeouts:
        connect(Duration),
        first_byte(Duration),
        idle(Duration),
        total(Duration),
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
    /// Creates a deadline; `None` when `after` is zero, or too long ever to pass.
    pub(super) fn new(start: Instant, which: TimeoutKind, after: Duration) -> Option<Self> {
        let at = start.checked_add(after).filter(|_| !after.is_zero())?;
        Some(Self { at, which, after })
    }

    pub(super) fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        one.into_iter().chain(other).min_by_key(|deadline| deadline.at)
    }

    pub(super) fn error(self) -> ProviderError {
        ProviderError::Timeout { which: self.which, after: self.after }
    }
}

/// The wait for the next read.
#[derive(Debug, Clone, Copy)]
enum Wait {
    /// Not begun; the next poll that finds nothing begins it.
    Next,
    /// Begun; ends at the deadline, or never.
    Begun(Option<Deadline>),
}

/// The chunks of one response.
pub(crate) struct BodyChunks<S, D> {
    body: Option<S>,
    decoding: Decoding<D>,
    timeouts: Timeouts,
    total: Option<Deadline>,
    wait: Wait,
    /// Made at the first wait; a stream that never waits has no timer.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S, D> BodyChunks<S, D>
where
    S: Stream<Item = Result<Bytes, TransportError>> + Unpin,
    D: BodyDecoder,
{
    /// Reads `body`, which was requested at `start`, until `total` at the latest.
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
            total,
            wait: Wait::Begun(Deadline::new(start, TimeoutKind::FirstByte, timeouts.first_byte)),
            timer: None,
        }
    }

    fn read(&mut self, bytes: &[u8]) {
        self.decoding.read(bytes);
        // A server that always has more to say is never waited for, so this is the only look.
        if let Some(total) = self.total.filter(|total| Instant::now() >= total.at)
            && !self.decoding.is_over()
        {
            self.decoding.end_by(total.error());
        }
    }

    /// Checks the deadlines while there is nothing to read.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<ProviderError> {
        let until = match self.wait {
            Wait::Begun(until) => until,
            Wait::Next => {
                let failed = self.decoding.progress() == Progress::Failed;
                let after = if failed { AFTER_ERROR } else { self.timeouts.idle };
                let until = Deadline::new(Instant::now(), TimeoutKind::Idle, after);
                self.wait = Wait::Begun(until);
                until
            }
        };
        let Some(next) = Deadline::earlier(until, self.total) else {
            return Poll::Pending;
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(next.at)));
        // The timer may be early: it is moved on when it fires, not at every read.
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
                // Frees the connection.
                this.body = None;
            }
            let Some(body) = &mut this.body else { return Poll::Ready(None) };
            match Pin::new(body).poll_next(context) {
                Poll::Ready(Some(Ok(bytes))) => {
                    this.wait = Wait::Next;
                    this.read(&bytes);
                }
                Poll::Ready(Some(Err(error))) => {
                    let error = error.into_provider_error(this.decoding.received());
                    this.decoding.end(Some(error));
                }
                Poll::Ready(None) => this.decoding.end(None),
                // The rest does not count; an end that is there already frees the connection.
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
mod tests {
    use futures_util::{StreamExt as _, stream};

    use super::*;
    use crate::llm::{
        ContentTyper,
        openai::OpenAiDecoder,
        parser::{ThinkingDialect, ToolDialect},
    };

    /// Returns the error of a body of `events` and then silence, and the time until then.
    async fn silence_after(events: &'static str) -> (ProviderError, Duration) {
        let start = Instant::now();
        let bytes = stream::iter([Ok(Bytes::from_static(events.as_bytes()))]);
        let body = bytes.chain(stream::pending());
        let typer = ContentTyper::new(&ThinkingDialect::NONE, &ToolDialect::NONE);
        let waits = Timeouts::default().idle(Duration::from_mins(2));
        let decoding = Decoding::new(OpenAiDecoder::default(), typer, usize::MAX);
        let chunks = BodyChunks::new(body, decoding, waits, start, None);
        let last = chunks.collect::<Vec<_>>().await.pop().unwrap();
        (last.unwrap_err(), start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn once_the_server_reports_an_error_the_rest_may_take_a_second() {
        let (error, after) = silence_after("data: {\"choices\":[]}\n\n").await;
        assert!(
            matches!(error, ProviderError::Timeout { which: TimeoutKind::Idle, .. }),
            "{error:?}"
        );
        assert!(after >= Duration::from_mins(2), "{after:?}");
        let (error, after) = silence_after("data: {\"error\":{\"message\":\"x\"}}\n\n").await;
        assert!(matches!(error, ProviderError::InStream { .. }), "{error:?}");
        assert!((AFTER_ERROR..AFTER_ERROR * 2).contains(&after), "{after:?}");
    }
}
