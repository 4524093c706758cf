//! The channels of a started agent.

use std::{fmt, sync::Arc};

use tokio::sync::mpsc::{self, error::TrySendError};

use super::input::Input;
use crate::steering::{Approvals, ClientCalls, Questions, SessionControl, has_ended};
use forgeline_llm::channel::Receiver;
use forgeline_types::{AgentError, Envelope};

/// The channels of a started agent, one per purpose, so that each can be given to the code that needs it. Dropping `input` or `events` ends the agent;
/// dropping the others has no effect.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentChannels {
    /// The inputs. Inputs that arrive during a run wait in order.
    pub input: InputSender,
    /// The events of all runs, in order. A reader that pauses also pauses the agent once the events that it has not read fill
    /// the channel; calls in progress go on.
    pub events: Receiver<Envelope>,
    /// The answers to approval requests.
    pub approval: Approvals,
    /// The results of calls at the client.
    pub client_calls: ClientCalls,
    /// The answers to questions of tools.
    pub questions: Questions,
    /// The cancellation of the current run.
    pub cancel: CancelSender,
    /// The shutdown of the agent.
    pub shutdown: ShutdownSender,
}

/// The sender of inputs to a started agent. Clones send to the same agent. When the last one is dropped, the agent serves the pending inputs and ends.
#[derive(Clone)]
pub struct InputSender {
    pub(crate) inputs: mpsc::Sender<Input>,
    pub(crate) control: Arc<SessionControl>,
}

impl InputSender {
    /// Waits for space in the queue and sends `input`. During a run, [`Input::Cancel`] takes effect without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::Shutdown`](forgeline_types::ErrorCode::Shutdown) if the agent has ended or is about to end.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, nothing has been sent.
    pub async fn send(&self, input: impl Into<Input>) -> Result<(), AgentError> {
        let input = input.into();
        let is_cancel = matches!(input, Input::Cancel);
        let mut current = self.control.current.subscribe();
        loop {
            if self.control.shutdown.is_cancelled() {
                return Err(has_ended());
            }
            if is_cancel && self.control.cancel_run() {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = self.control.shutdown.cancelled() => {}
                place = self.inputs.reserve() => {
                    place.map_err(|_| has_ended())?.send(input);
                    return Ok(());
                }
                // A run has started or ended.
                _changed = current.changed(), if is_cancel => {}
            }
        }
    }

    /// Sends `input` if there is space in the queue, and returns at once. During a run, [`Input::Cancel`] takes effect without space.
    ///
    /// # Errors
    ///
    /// Returns the input in [`UnsentInput::Full`] if the queue is full, and in [`UnsentInput::Ended`] if the agent has ended or is about to end.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{agent::{Agent, channels::UnsentInput}, llm::demo::DemoProvider};
    ///
    /// let (handle, channels) = Agent::builder(DemoProvider::new()).build()?.start();
    /// match channels.input.try_send("Hi") {
    ///     Err(UnsentInput::Full(input)) => channels.input.send(*input).await?,
    ///     sent => sent?,
    /// }
    /// handle.shutdown().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_send(&self, input: impl Into<Input>) -> Result<(), UnsentInput> {
        let input = input.into();
        if self.control.shutdown.is_cancelled() {
            return Err(UnsentInput::Ended(Box::new(input)));
        }
        if matches!(input, Input::Cancel) && self.control.cancel_run() {
            return Ok(());
        }
        self.inputs.try_send(input).map_err(|unsent| match unsent {
            TrySendError::Full(input) => UnsentInput::Full(Box::new(input)),
            TrySendError::Closed(input) => UnsentInput::Ended(Box::new(input)),
        })
    }
}

/// An input that [`InputSender::try_send`] did not send, given back.
///
/// # Examples
///
/// ```
/// use forgeline::agent::channels::{Input, UnsentInput};
///
/// let unsent = UnsentInput::Full(Box::new(Input::from("Hi")));
/// assert!(unsent.to_string().starts_with("the queue of inputs is full"));
/// assert!(matches!(unsent.into_input(), Input::User(_)));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnsentInput {
    /// The queue of inputs is full.
    #[error("the queue of inputs is full; wait for space with `send`, or raise `input_capacity`")]
    Full(Box<Input>),
    /// The agent has ended or is about to end.
    #[error("the agent has been shut down; start it again to go on")]
    Ended(Box<Input>),
}

impl UnsentInput {
    /// Returns the input.
    #[must_use]
    pub fn into_input(self) -> Input {
        let (Self::Full(input) | Self::Ended(input)) = self;
        *input
    }
}

impl fmt::Debug for InputSender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("InputSender").finish_non_exhaustive()
    }
}

/// The sender of cancellations to a started agent. Clones cancel runs of the same agent.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{Agent, channels::AgentChannels},
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::{AgentEvent, ErrorCode, ErrorEvent},
/// };
///
/// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Once upon").hang()]);
/// let (handle, channels) = Agent::builder(provider).build()?.start();
/// let AgentChannels { input, mut events, cancel, shutdown, .. } = channels;
/// input.send("Tell me a story.").await?;
/// while let Some(envelope) = events.recv().await {
///     match envelope.event {
///         AgentEvent::MessageContent(_) => cancel.send()?,
///         AgentEvent::Error(ErrorEvent { error, .. }) => {
///             assert_eq!(error.code, ErrorCode::Cancelled);
///             shutdown.send()?;
///         }
///         _ => {}
///     }
/// }
/// handle.done().await;
/// assert_eq!(cancel.send().unwrap_err().code, ErrorCode::Shutdown);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CancelSender(pub(crate) Arc<SessionControl>);

impl CancelSender {
    /// Cancels the current run at once, even if its events are not read and the queue of inputs is full. Between runs, this has no effect;
    /// [`Input::Cancel`] follows the inputs before it.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::Shutdown`](forgeline_types::ErrorCode::Shutdown) if the agent has ended or was asked to end.
    pub fn send(&self) -> Result<(), AgentError> {
        self.0.cancel()
    }
}

impl fmt::Debug for CancelSender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CancelSender").finish_non_exhaustive()
    }
}

/// The sender of the shutdown of a started agent. Clones end the same agent. See [`CancelSender`] for an example.
#[derive(Clone)]
pub struct ShutdownSender(pub(crate) Arc<SessionControl>);

impl ShutdownSender {
    /// Tells the agent to end, without waiting: the current run is cancelled, and pending inputs are dropped.
    /// [`AgentHandle::done`](crate::channels::AgentHandle::done) waits for the end.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::Shutdown`](forgeline_types::ErrorCode::Shutdown) if the agent has ended or was asked to end.
    pub fn send(&self) -> Result<(), AgentError> {
        if self.0.has_ended() {
            return Err(has_ended());
        }
        self.0.shutdown.cancel();
        Ok(())
    }
}

impl fmt::Debug for ShutdownSender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ShutdownSender").finish_non_exhaustive()
    }
}
