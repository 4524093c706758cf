//! The driver of a request's attempts: a stream of which only the last attempt delivers content.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use tokio::time::Sleep;

use crate::{
    llm::{ChunkStream, ProviderError, ProviderFuture, StreamChunk},
    types::AgentEvent,
};

/// The attempts at one request, and the decision after one that failed.
pub(in crate::llm) trait Attempts: Send + Unpin + 'static {
    /// The stream of one attempt.
    type Stream: Stream<Item = Result<StreamChunk, ProviderError>> + Send + Unpin + 'static;

    /// Starts the next attempt.
    fn open(&mut self) -> ProviderFuture<Self::Stream>;

    /// Decides what to do after an attempt that failed before it delivered anything.
    ///
    /// # Errors
    ///
    /// The error to end with, if there is no further attempt.
    fn after(&mut self, error: ProviderError) -> Result<Next, ProviderError>;
}

/// The events and the wait before the next attempt.
#[derive(Debug, Default)]
pub(in crate::llm) struct Next {
    /// The events for the consumer.
    pub(in crate::llm) events: Vec<AgentEvent>,
    /// The time to wait.
    pub(in crate::llm) delay: Duration,
}

/// Starts the first attempt. An error after which there is no further attempt fails the future; other failures are
/// reported in the stream, after `events`.
pub(in crate::llm) async fn begin<A: Attempts>(
    mut attempts: A,
    mut events: Vec<AgentEvent>,
) -> Result<ChunkStream, ProviderError> {
    let state = match attempts.open().await {
        Ok(stream) if events.is_empty() => State::Open(stream),
        Ok(stream) => State::Opening(Box::pin(std::future::ready(Ok(stream)))),
        Err(error) => {
            let next = attempts.after(error)?;
            events.extend(next.events);
            State::waiting(next.delay)
        }
    };
    let notice = (!events.is_empty()).then(|| StreamChunk::events(events));
    Ok(Box::pin(AttemptStream { attempts, state, notice, delivered: false }))
}

/// The chunks of the current attempt.
struct AttemptStream<A: Attempts> {
    attempts: A,
    state: State<A::Stream>,
    /// The chunk to deliver before anything else.
    notice: Option<StreamChunk>,
    /// `true` once part of an answer has been delivered.
    delivered: bool,
}

enum State<S> {
    /// The wait before the next attempt.
    Waiting(Option<Pin<Box<Sleep>>>),
    /// The next attempt is starting.
    Opening(ProviderFuture<S>),
    /// An attempt is answering.
    Open(S),
    /// The stream has ended.
    Ended,
}

impl<S> State<S> {
    fn waiting(delay: Duration) -> Self {
        Self::Waiting((!delay.is_zero()).then(|| Box::pin(tokio::time::sleep(delay))))
    }
}

impl<A: Attempts> AttemptStream<A> {
    /// Ends the attempt with `error`; returns the error if there is no further attempt.
    fn fail(&mut self, error: ProviderError) -> Option<ProviderError> {
        self.state = State::Ended;
        if self.delivered {
            return Some(error);
        }
        match self.attempts.after(error) {
            Ok(next) => {
                self.state = State::waiting(next.delay);
                self.notice = Some(StreamChunk::events(next.events));
                None
            }
            Err(error) => Some(error),
        }
    }
}

impl<A: Attempts> Stream for AttemptStream<A> {
    type Item = Result<StreamChunk, ProviderError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let State::Open(stream) = &mut this.state {
                // The hot path of every delta, to which only this check is added.
                match ready!(Pin::new(stream).poll_next(context)) {
                    Some(Ok(chunk)) => {
                        this.delivered = this.delivered || chunk.is_delivery();
                        return Poll::Ready(Some(Ok(chunk)));
                    }
                    Some(Err(error)) => {
                        if let Some(error) = this.fail(error) {
                            return Poll::Ready(Some(Err(error)));
                        }
                    }
                    None => this.state = State::Ended,
                }
            }
            if let Some(notice) = this.notice.take() {
                return Poll::Ready(Some(Ok(notice)));
            }
            match &mut this.state {
                State::Open(_) => {}
                State::Ended => return Poll::Ready(None),
                State::Waiting(timer) => {
                    if let Some(timer) = timer {
                        ready!(timer.as_mut().poll(context));
                    }
                    this.state = State::Opening(this.attempts.open());
                }
                State::Opening(opening) => match ready!(opening.as_mut().poll(context)) {
                    Ok(stream) => this.state = State::Open(stream),
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
