//! The driver: a body's bytes become typed chunks as they arrive.

use std::{
    collections::VecDeque,
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Instant, Sleep};

use super::{
    BodyDecoder, ContentTyper, Progress, ProviderError, StreamChunk, TimeoutKind,
    transport::TransportError,
};
use crate::types::Text;

/// How long the rest of a body may take once the server has reported an error.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// How long a provider waits; zero waits for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Making a connection. Default: 10 s. It holds for the library's own transport; a client or a
    /// [transport](super::transport) that you bring has its own.
    pub connect: Duration,
    /// From sending the request to the first byte of the body. Default: 5 min, because a local
    /// server may read a long prompt slowly.
    pub first_byte: Duration,
    /// Silence between two reads of the body; comments count as reads. Default: 2 min.
    pub idle: Duration,
    /// The whole exchange, further attempts and the waits between them included. Default: zero, for
    /// ever.
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
    /// Waits for ever.
    pub const NONE: Self = Self {
        connect: Duration::ZERO,
        first_byte: Duration::ZERO,
        idle: Duration::ZERO,
        total: Duration::ZERO,
    };

    /// Sets [`connect`](Self::connect).
    #[must_use]
    pub fn connect(mut self, time: Duration) -> Self {
        self.connect = time;
        self
    }

    /// Sets [`first_byte`](Self::first_byte).
    #[must_use]
    pub fn first_byte(mut self, time: Duration) -> Self {
        self.first_byte = time;
        self
    }

    /// Sets [`idle`](Self::idle).
    #[must_use]
    pub fn idle(mut self, time: Duration) -> Self {
        self.idle = time;
        self
    }

    /// Sets [`total`](Self::total).
    #[must_use]
    pub fn total(mut self, time: Duration) -> Self {
        self.total = time;
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
    /// `None` when `after` is zero, or so long that it never passes.
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
    /// It has not begun; the next poll that finds nothing begins it.
    Next,
    /// It ends then, or never.
    Begun(Option<Deadline>),
}

/// The chunks of one response.
pub(crate) struct BodyChunks<S, D> {
    body: Option<S>,
    decoder: D,
    typer: ContentTyper,
    /// The chunks of the last read; empty before the next.
    queue: VecDeque<StreamChunk>,
    error: Option<ProviderError>,
    received: u64,
    /// Most bytes that are read.
    most: u64,
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
    /// Reads at most `most` bytes of `body`, asked for at `start`, until `total` at the latest.
    pub(crate) fn new(
        body: S,
        decoder: D,
        typer: ContentTyper,
        most: usize,
        timeouts: Timeouts,
        start: Instant,
        total: Option<Deadline>,
    ) -> Self {
        Self {
            body: Some(body),
            decoder,
            typer,
            queue: VecDeque::with_capacity(4),
            error: None,
            received: 0,
            most: u64::try_from(most).unwrap_or(u64::MAX),
            timeouts,
            total,
            wait: Wait::Begun(Deadline::new(start, TimeoutKind::FirstByte, timeouts.first_byte)),
            timer: None,
        }
    }

    fn read(&mut self, bytes: &[u8]) {
        self.received += bytes.len() as u64;
        let Self { decoder, typer, queue, .. } = self;
        let result = decoder.push(bytes, &mut |chunk| {
            typer.push(chunk, &mut |chunk| queue.push_back(chunk));
        });
        if let Err(error) = result {
            self.end(Some(error));
        } else if self.received > self.most {
            self.end_by(ProviderError::Decode {
                offset: self.most,
                reason: Text::from("the response is longer than max_response_bytes"),
            });
        } else if let Some(total) = self.total.filter(|total| Instant::now() >= total.at) {
            // A server that always has more to say is never waited for, so this is the only look.
            self.end_by(total.error());
        }
    }

    /// Ends the body at a bound of ours: an answer that is whole stays so, whatever its kind of error.
    fn end_by(&mut self, error: ProviderError) {
        let whole = matches!(self.decoder.progress(), Progress::Complete | Progress::Done);
        self.end((!whole).then_some(error));
    }

    /// Ends the body: by itself, or because of `error`, which counts unless the answer was whole.
    fn end(&mut self, error: Option<ProviderError>) {
        self.body = None;
        let Self { decoder, typer, queue, .. } = self;
        let mut emit = |chunk| typer.push(chunk, &mut |chunk| queue.push_back(chunk));
        let whole = matches!(decoder.progress(), Progress::Complete | Progress::Done);
        let failed = decoder.progress() == Progress::Failed;
        let decodes = !matches!(error, Some(ProviderError::Decode { .. }));
        let ended = if decodes || failed { decoder.finish(&mut emit).err() } else { None };
        typer.finish(&mut |chunk| queue.push_back(chunk));
        self.error = match error {
            Some(_) if whole && decodes => None,
            // What the server reported says more than how the body broke off after it.
            Some(error) if failed => ended.or(Some(error)),
            Some(error) => Some(error),
            None => ended,
        };
    }

    /// Looks at the clock while there is nothing to read.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<ProviderError> {
        let until = match self.wait {
            Wait::Begun(until) => until,
            Wait::Next => {
                let failed = self.decoder.progress() == Progress::Failed;
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
            if let Some(chunk) = this.queue.pop_front() {
                return Poll::Ready(Some(Ok(chunk)));
            }
            let Some(body) = &mut this.body else {
                return Poll::Ready(this.error.take().map(Err));
            };
            match Pin::new(body).poll_next(context) {
                Poll::Ready(Some(Ok(bytes))) => {
                    this.wait = Wait::Next;
                    this.read(&bytes);
                }
                Poll::Ready(Some(Err(error))) => {
                    let error = error.into_provider_error(this.received);
                    this.end(Some(error));
                }
                Poll::Ready(None) => this.end(None),
                // The rest does not count; an end that is there already frees the connection.
                Poll::Pending if this.decoder.progress() == Progress::Done => this.end(None),
                Poll::Pending => {
                    let error = ready!(this.poll_deadline(context));
                    this.end(Some(error));
                }
            }
        }
    }
}
