//! The driver of a request's attempts: a stream of which only the last attempt delivers content.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use tokio::time::Sleep;

use crate::{ChunkStream, ProviderError, ProviderFuture, StreamChunk};
use forgeline_types::AgentEvent;

/// The attempts at one request, and the decision after one that failed.
pub(crate) trait AttemptPolicy: Send + Unpin + 'static {
    /// The stream of one attempt.
    type Stream: Stream<Item = Result<StreamChunk, ProviderError>> + Send + Unpin + 'static;

    /// Starts the next attempt.
    fn open(&mut self) -> ProviderFuture<Self::Stream>;

    /// Decides what to do after an attempt that failed before it delivered anything.
    ///
    /// # Errors
    ///
    /// The error to end with, if there is no further attempt.
    fn after(&mut self, error: ProviderError) -> Result<NextAttempt, ProviderError>;

    /// Notes that the current attempt has delivered part of an answer.
    fn delivered(&mut self) {}
}

/// The events and the wait before the next attempt.
#[derive(Debug, Default)]
pub(crate) struct NextAttempt {
    /// The events for the consumer.
    pub(crate) events: Vec<AgentEvent>,
    /// The time to wait.
    pub(crate) delay: Duration,
}

/// Starts the first attempt. An error after which there is no further attempt fails the future; other failures are
/// reported in the stream, after `events`.
pub(crate) async fn begin<A: AttemptPolicy>(
    mut attempts: A,
    mut events: Vec<AgentEvent>,
) -> Result<ChunkStream, ProviderError> {
    let state = match attempts.open().await {
        Ok(stream) if events.is_empty() => AttemptStep::Open(stream),
        Ok(stream) => AttemptStep::Opening(Box::pin(std::future::ready(Ok(stream)))),
        Err(error) => {
            let next = attempts.after(error)?;
            events.extend(next.events);
            AttemptStep::waiting(next.delay)
        }
    };
    let notice = (!events.is_empty()).then(|| StreamChunk::events(events));
    Ok(Box::pin(AttemptStream { attempts, state, notice, delivered: false }))
}

/// The chunks of the current attempt.
struct AttemptStream<A: AttemptPolicy> {
    attempts: A,
    state: AttemptStep<A::Stream>,
    /// The chunk to deliver before anything else.
    notice: Option<StreamChunk>,
    /// `true` once part of an answer has been delivered.
    delivered: bool,
}

enum AttemptStep<S> {
    /// The wait before the next attempt.
    Waiting(Option<Pin<Box<Sleep>>>),
    /// The next attempt is starting.
    Opening(ProviderFuture<S>),
    /// An attempt is answering.
    Open(S),
    /// The stream has ended.
    Ended,
}

impl<S> AttemptStep<S> {
    fn waiting(delay: Duration) -> Self {
        Self::Waiting((!delay.is_zero()).then(|| Box::pin(tokio::time::sleep(delay))))
    }
}

impl<A: AttemptPolicy> AttemptStream<A> {
    /// Ends the attempt with `error`; returns the error if there is no further attempt.
    fn fail(&mut self, error: ProviderError) -> Option<ProviderError> {
        self.state = AttemptStep::Ended;
        if self.delivered {
            return Some(error);
        }
        match self.attempts.after(error) {
            Ok(next) => {
                self.state = AttemptStep::waiting(next.delay);
                self.notice = Some(StreamChunk::events(next.events));
                None
            }
            Err(error) => Some(error),
        }
    }
}

impl<A: AttemptPolicy> Stream for AttemptStream<A> {
    type Item = Result<StreamChunk, ProviderError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let AttemptStep::Open(stream) = &mut this.state {
                // The hot path of every delta, to which only this check is added.
                match ready!(Pin::new(stream).poll_next(context)) {
                    Some(Ok(chunk)) => {
                        if !this.delivered && chunk.is_delivery() {
                            this.delivered = true;
                            this.attempts.delivered();
                        }
                        return Poll::Ready(Some(Ok(chunk)));
                    }
                    Some(Err(error)) => {
                        if let Some(error) = this.fail(error) {
                            return Poll::Ready(Some(Err(error)));
                        }
                    }
                    None => this.state = AttemptStep::Ended,
                }
            }
            if let Some(notice) = this.notice.take() {
                return Poll::Ready(Some(Ok(notice)));
            }
            match &mut this.state {
                AttemptStep::Open(_) => {}
                AttemptStep::Ended => return Poll::Ready(None),
                AttemptStep::Waiting(timer) => {
                    if let Some(timer) = timer {
                        ready!(timer.as_mut().poll(context));
                    }
                    this.state = AttemptStep::Opening(this.attempts.open());
                }
                AttemptStep::Opening(opening) => match ready!(opening.as_mut().poll(context)) {
                    Ok(stream) => this.state = AttemptStep::Open(stream),
                    Err(error) => {
                        if let Some(error) = this.fail(error) {
                            return Poll::Ready(Some(Err(error)));
                        }
                    }
                },
            }
        }
    }
}
