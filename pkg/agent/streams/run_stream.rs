//! A run as a stream of its events.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use futures_core::{Stream, future::BoxFuture};
use futures_util::StreamExt;
use tokio::task::coop::poll_proceed;
use tokio_util::sync::CancellationToken;

use super::progress::RunProgress;
use crate::{
    driver::{self, EventEmitter, RunStart, SharedAgent},
    run::{RunError, RunInput, RunOutcome},
    steering::{Approvals, ClientCalls, Questions, Steering},
    support::next_run_id,
};
use forgeline_llm::channel::{self, Receiver};
use forgeline_types::{AgentError, ClientReturn, Envelope, Text};

/// A run as a stream of its events.
///
/// The stream has no task of its own: reading drives the run. A reader that pauses also pauses the run, but not the calls in progress, which are tasks
/// of their own; and the run may be ahead of the events that were read by as many as
/// [`event_capacity`](crate::config::AgentConfig::event_capacity). On a runtime with several threads, what is done upon an event may therefore reach the run only
/// after the steps that follow the event: a call may have ended when its [`ToolCall`](forgeline_types::AgentEvent::ToolCall) is read. Where an
/// order is needed, a tool waits for it.
///
/// Dropping the stream ends the run: the provider's stream is closed, and tools are dropped.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::Agent,
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::{AgentEvent, MessageContentEvent},
/// };
///
/// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hel").text("lo")]);
/// let agent = Agent::builder(provider).build()?;
/// let mut stream = agent.run_stream("Hi");
/// let mut text = String::new();
/// while let Some(envelope) = stream.next().await {
///     if let AgentEvent::MessageContent(MessageContentEvent { content, .. }) = envelope.event {
///         text.push_str(&content);
///     }
/// }
/// assert_eq!(text, stream.outcome().await?.text);
/// # Ok(())
/// # }
/// ```
pub struct RunStream {
    run: ActiveRun,
    events: Receiver<Envelope>,
    cancel: CancellationToken,
    steering: Steering,
    run_id: Text,
    progress: Arc<RunProgress>,
    /// The waker that reports progress, created once.
    waker: Waker,
}

enum ActiveRun {
    /// The run has not ended.
    Yes(BoxFuture<'static, RunOutcome>),
    /// The run ended; events may still be queued.
    Ended(Box<RunOutcome>),
}

impl RunStream {
    pub(crate) fn new(agent: Arc<SharedAgent>, start: RunStart, run_id: Text) -> Self {
        let cancel = CancellationToken::new();
        let steering = Steering::new(&cancel);
        Self::steered(agent, start, run_id, cancel, steering, true)
    }

    /// Returns the run of a sub-agent, which `cancel` ends; its requests are answered through the
    /// parent run.
    pub(crate) fn below(
        agent: Arc<SharedAgent>,
        input: RunInput,
        cancel: CancellationToken,
        above: Option<&Steering>,
    ) -> Self {
        let start = RunStart::Input(Box::new(input));
        let steering = Steering::below(&cancel, above.cloned());
        Self::steered(agent, start, next_run_id(), cancel, steering, above.is_some())
    }

    fn steered(
        agent: Arc<SharedAgent>,
        start: RunStart,
        run_id: Text,
        cancel: CancellationToken,
        steering: Steering,
        has_reader: bool,
    ) -> Self {
        let steering = steering.of_model(start.model(&agent));
        let (sender, events) = channel::channel(agent.parts.config.event_capacity);
        let mut emitter = EventEmitter::new(run_id.clone(), Some(sender.clone()), cancel.clone());
        if has_reader {
            emitter = emitter.steered_by(steering.clone());
        }
        let run = Box::pin(async move {
            let (outcome, backlog) = driver::run(&agent, start, emitter).await;
            sender.send_last(backlog);
            outcome
        });
        let progress = Arc::new(RunProgress::new());
        let waker = Waker::from(Arc::clone(&progress));
        Self { run: ActiveRun::Yes(run), events, cancel, steering, run_id, progress, waker }
    }

    /// Returns the id of the run.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Waits for the next event; `None` after the last.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, no event has been taken.
    pub async fn next(&mut self) -> Option<Envelope> {
        StreamExt::next(self).await
    }

    /// Cancels the run. The events that close open parts follow, and an error event.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Returns a handle that steers the run from other tasks.
    #[must_use]
    pub fn steering(&self) -> Steering {
        self.steering.clone()
    }

    /// Returns a handle that answers approval requests, for this and other tasks. A request without an answer expires after
    /// [`approval_timeout`](crate::config::AgentConfig::approval_timeout), and its call does not run.
    #[must_use]
    pub fn approvals(&self) -> Approvals {
        Approvals::of_run(self.steering.clone())
    }

    /// Returns a handle that gives the results of calls at the client, for this and other tasks. A call without a result expires after
    /// [`client_timeout`](crate::config::AgentConfig::client_timeout).
    #[must_use]
    pub fn client_calls(&self) -> ClientCalls {
        ClientCalls::of_run(self.steering.clone())
    }

    /// Returns a handle that answers questions of tools, for this and other tasks. A question without an answer expires after
    /// [`approval_timeout`](crate::config::AgentConfig::approval_timeout).
    #[must_use]
    pub fn questions(&self) -> Questions {
        Questions::of_run(self.steering.clone())
    }

    /// Gives the result of a call at the client; see [`ClientCalls::complete`].
    ///
    /// # Errors
    ///
    /// The same as for [`ClientCalls::complete`].
    pub fn complete_client_call(
        &self,
        client_call_id: &str,
        result: impl Into<ClientReturn>,
    ) -> Result<(), AgentError> {
        self.client_calls().complete(client_call_id, result)
    }

    /// Returns the token that cancels the run, for other tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{
    ///     agent::Agent,
    ///     testing::{ScriptedProvider, ScriptedTurn},
    ///     types::ErrorCode,
    /// };
    ///
    /// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Once upon").hang()]);
    /// let stream = Agent::builder(provider).build()?.run_stream("Tell me a story.");
    /// let cancel = stream.cancel_token();
    /// tokio::spawn(async move {
    ///     // Such as `tokio::signal::ctrl_c().await`.
    ///     tokio::task::yield_now().await;
    ///     cancel.cancel();
    /// });
    /// let error = stream.outcome().await.unwrap_err();
    /// assert_eq!(error.error.code, ErrorCode::Cancelled);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cancel_token(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Runs to the end, dropping unread events, and returns the outcome.
    ///
    /// # Errors
    ///
    /// The same as for [`Agent::run`](crate::Agent::run).
    pub async fn outcome(mut self) -> Result<RunOutcome, RunError> {
        loop {
            match self.run {
                ActiveRun::Ended(outcome) => return outcome.into_result(),
                ActiveRun::Yes(_) => while self.next().await.is_some() {},
            }
        }
    }
}

impl Stream for RunStream {
    type Item = Envelope;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Envelope>> {
        let this = self.get_mut();
        // A run that never waits lets other tasks run, too.
        let budget = ready!(poll_proceed(context));
        let mut event = this.events.try_next();
        if event.is_pending()
            && let ActiveRun::Yes(run) = &mut this.run
        {
            if !this.progress.is_due(context.waker()) {
                return Poll::Pending;
            }
            let polled = run.as_mut().poll(&mut Context::from_waker(&this.waker));
            if let Poll::Ready(outcome) = polled {
                this.run = ActiveRun::Ended(Box::new(outcome));
            }
            // An event that the run has just sent, or the end once the run has dropped its sender.
            event = this.events.try_next();
        }
        if event.is_ready() {
            budget.made_progress();
        }
        event
    }
}

impl fmt::Debug for RunStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RunStream").field("run_id", &self.run_id).finish_non_exhaustive()
    }
}
