//! The ends of a started agent.

use std::{fmt, sync::Arc};

use tokio::sync::mpsc;

use super::{
    Approvals, ClientCalls, Input, Questions,
    control::{Control, has_ended},
};
use crate::{
    llm::channel::Receiver,
    types::{AgentError, Envelope},
};

/// The ends of a started agent, one for each purpose, to be given to those who need no more. Dropping
/// `input` or `events` ends the agent; the other ends change nothing by that.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentChannels {
    /// The inputs; those that arrive during a run wait in order.
    pub input: InputSender,
    /// The events of all runs, in order. A reader that pauses makes the agent pause.
    pub events: Receiver<Envelope>,
    /// Answers requests for approval.
    pub approval: Approvals,
    /// Gives the results of calls at the client.
    pub client_calls: ClientCalls,
    /// Answers questions of tools.
    pub questions: Questions,
    /// Ends the run that is going on.
    pub cancel: CancelSender,
    /// Ends the agent.
    pub shutdown: ShutdownSender,
}

/// The sender of inputs to a started agent; clones send to the same agent. When the last one is
/// dropped, the agent serves the inputs that wait and ends.
#[derive(Clone)]
pub struct InputSender {
    pub(super) inputs: mpsc::Sender<Input>,
    pub(super) control: Arc<Control>,
}

impl InputSender {
    /// Waits for a place in the queue and sends `input`. [`Input::Cancel`] waits behind nothing while a
    /// run goes on.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::Shutdown`](crate::types::ErrorCode::Shutdown) when the agent has ended or is about to.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait has sent nothing.
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
                // A run has begun or ended.
                _changed = current.changed(), if is_cancel => {}
            }
        }
    }
}

impl fmt::Debug for InputSender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("InputSender").finish_non_exhaustive()
    }
}

/// Ends runs of a started agent; clones end runs of the same agent.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{AgentChannels, DefaultAgent},
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::{AgentEvent, ErrorCode},
/// };
///
/// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Once upon").hang()]);
/// let (handle, channels) = DefaultAgent::builder(provider).build()?.start();
/// let AgentChannels { input, mut events, cancel, shutdown, .. } = channels;
/// input.send("Tell me a story.").await?;
/// while let Some(envelope) = events.recv().await {
///     match envelope.event {
///         AgentEvent::MessageContent { .. } => cancel.send()?,
///         AgentEvent::Error { error, .. } => {
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
pub struct CancelSender(pub(super) Arc<Control>);

impl CancelSender {
    /// Cancels the run that is going on, at once, also while the events are not read and the queue of
    /// inputs is full. Between runs nothing happens: [`Input::Cancel`] comes behind the inputs before it.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::Shutdown`](crate::types::ErrorCode::Shutdown) when the agent has ended or was told to.
    pub fn send(&self) -> Result<(), AgentError> {
        self.0.cancel()
    }
}

impl fmt::Debug for CancelSender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CancelSender").finish_non_exhaustive()
    }
}

/// Ends a started agent; clones end the same agent. See [`CancelSender`] for an example.
#[derive(Clone)]
pub struct ShutdownSender(pub(super) Arc<Control>);

impl ShutdownSender {
    /// Tells the agent to end, without a wait: the current run is cancelled, inputs that wait are
    /// dropped. [`AgentHandle::done`](super::AgentHandle::done) waits for the end.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::Shutdown`](crate::types::ErrorCode::Shutdown) when the agent has ended or was told to.
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
