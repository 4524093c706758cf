//! A run as a stream of its events.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::{Stream, future::BoxFuture};
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use super::{DefaultAgent, RunError, RunOutcome, emitter::Emitter, run, run_id};
use crate::{
    llm::channel::{self, Receiver},
    types::{Envelope, Text},
};

/// A run that goes on as its events are read.
///
/// There is no task behind it: reading drives the run, and a reader that pauses makes it pause.
/// Dropping it ends the run: the provider's stream is closed, tools are dropped.
pub struct RunStream {
    run: Running,
    events: Receiver<Envelope>,
    cancel: CancellationToken,
    run_id: Text,
}

enum Running {
    /// The run goes on.
    Yes(BoxFuture<'static, RunOutcome>),
    /// It ended; events may still be queued.
    Ended(Box<RunOutcome>),
}

impl RunStream {
    pub(super) fn new(agent: DefaultAgent, input: String) -> Self {
        let (sender, events) = channel::channel(agent.parts().config.event_capacity);
        let cancel = CancellationToken::new();
        let run_id = run_id::next();
        let emitter = Emitter::new(run_id.clone(), Some(sender.clone()), cancel.clone());
        let run = Box::pin(async move {
            let (outcome, backlog) = run::run(&agent, input, emitter).await;
            sender.send_last(backlog);
            outcome
        });
        Self { run: Running::Yes(run), events, cancel, run_id }
    }

    /// The id of the run.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The next event; `None` after the last.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait has taken nothing.
    pub async fn next(&mut self) -> Option<Envelope> {
        StreamExt::next(self).await
    }

    /// Cancels the run; the events that end what is open follow, and an error event.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// The token that cancels the run, for other tasks.
    #[must_use]
    pub fn cancel_token(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Runs to the end, dropping the events that were not read, and gives the outcome.
    ///
    /// # Errors
    ///
    /// As for [`DefaultAgent::run`].
    pub async fn outcome(mut self) -> Result<RunOutcome, RunError> {
        loop {
            match self.run {
                Running::Ended(outcome) => return outcome.into_result(),
                Running::Yes(_) => while self.next().await.is_some() {},
            }
        }
    }
}

impl Stream for RunStream {
    type Item = Envelope;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Envelope>> {
        let this = self.get_mut();
        if let Poll::Ready(item) = Pin::new(&mut this.events).poll_next(context) {
            return Poll::Ready(item);
        }
        if let Running::Yes(run) = &mut this.run
            && let Poll::Ready(outcome) = run.as_mut().poll(context)
        {
            this.run = Running::Ended(Box::new(outcome));
        }
        // What the run has just sent, or the end when it has let go of its sender.
        Pin::new(&mut this.events).poll_next(context)
    }
}

impl fmt::Debug for RunStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RunStream").field("run_id", &self.run_id).finish_non_exhaustive()
    }
}
