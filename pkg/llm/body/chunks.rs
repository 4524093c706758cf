//! The driver of a response body, which reads it within the time limits.

use forgeline_types::debug_fields;
use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Instant, Sleep};

use super::BodyDeadline;
use crate::{
    BodyDecoder, Progress, ProviderError, StreamChunk, TimeoutKind, Timeouts, decode::BodyDecoding,
    transport::TransportError,
};

/// The maximum time for the rest of a body once the server has reported an error.
pub(super) const AFTER_ERROR: Duration = Duration::from_secs(1);

/// The number of reads without waiting after which the clock is checked anyway.
const READS_UNTIMED: u32 = 1024;

/// A wait for the next data.
#[derive(Debug, Clone, Copy)]
enum ReadWait {
    /// Not begun; the next check of the deadlines begins it.
    Next,
    /// Begun; ends at the deadline, if there is one.
    Begun(Option<BodyDeadline>),
}

impl ReadWait {
    /// Begins the wait if it has not begun, and returns its deadline.
    fn until(&mut self, which: TimeoutKind, after: Duration, now: Instant) -> Option<BodyDeadline> {
        if let Self::Begun(until) = *self {
            return until;
        }
        let until = BodyDeadline::new(now, which, after);
        *self = Self::Begun(until);
        until
    }
}

/// The chunks of one response.
pub struct BodyChunks<S, D> {
    body: Option<S>,
    decoding: BodyDecoding<D>,
    timeouts: Timeouts,
    /// The limits that apply once the answer begins, if they differ.
    once_begun: Option<Timeouts>,
    total: Option<BodyDeadline>,
    /// The wait for the next read.
    read: ReadWait,
    /// The wait for the next content, or after the end of the answer, for the end of the body.
    content: ReadWait,
    /// `true` until a check of the deadlines finds that the answer is over.
    is_open: bool,
    reads: u32,
    /// Created at the first wait; a stream that never waits has no timer.
    timer: Option<Pin<Box<Sleep>>>,
}

debug_fields!(<S, D> BodyChunks, chunks: timeouts = chunks.timeouts);

impl<S, D> BodyChunks<S, D>
where
    S: Stream<Item = Result<Bytes, TransportError>> + Unpin,
    D: BodyDecoder,
{
    /// Reads `body`, requested at `start`, until `total` at the latest.
    #[doc(hidden)]
    pub fn new(
        body: S,
        decoding: BodyDecoding<D>,
        timeouts: Timeouts,
        start: Instant,
        total: Option<BodyDeadline>,
    ) -> Self {
        Self {
            body: Some(body),
            decoding,
            timeouts,
            once_begun: None,
            total,
            read: ReadWait::Begun(BodyDeadline::new(
                start,
                TimeoutKind::FirstByte,
                timeouts.first_byte,
            )),
            content: ReadWait::Begun(None),
            is_open: true,
            reads: 0,
            timer: None,
        }
    }

    /// Sets the limits that apply once the answer begins.
    pub(crate) fn once_begun(mut self, timeouts: Timeouts) -> Self {
        self.once_begun = Some(timeouts).filter(|timeouts| *timeouts != self.timeouts);
        self
    }

    fn decode(&mut self, bytes: &[u8]) {
        self.decoding.push(bytes);
        if self.once_begun.is_some() && self.decoding.delivers() {
            self.timeouts = self.once_begun.take().unwrap_or(self.timeouts);
        }
        self.read = ReadWait::Next;
        if self.reads == 0 || self.is_open && self.decoding.has_chunks() {
            self.content = ReadWait::Next;
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
    fn deadline(&mut self) -> Option<BodyDeadline> {
        let progress = self.decoding.progress();
        if self.is_open && progress != Progress::Open {
            (self.is_open, self.content) = (false, ReadWait::Next);
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
        BodyDeadline::earlier(self.total, BodyDeadline::earlier(read, content))
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
                Poll::Ready(Some(Ok(bytes))) => this.decode(&bytes),
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
