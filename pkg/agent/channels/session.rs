//! A started agent: inputs in, events out.

use std::{collections::VecDeque, fmt, sync::Arc};

use tokio::sync::mpsc;

use super::{
    agent_channels::{AgentChannels, CancelSender, InputSender, ShutdownSender},
    input::Input,
};
use crate::{
    driver::{self, EventEmitter, RunStart, SharedAgent as Agent},
    run::RunInput,
    steering::{
        Approvals, ClientCalls, CurrentRun, Questions, SessionControl, Steering, UserMessage,
    },
    support::next_run_id,
};
use forgeline_llm::channel::{self, Sender};
use forgeline_types::{AgentError, ClientReturn, Envelope};

/// A handle that controls a started agent. Clones control the same agent. Dropping a handle has no effect.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{Agent, channels::AgentChannels},
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::AgentEvent,
/// };
///
/// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hello.")]);
/// let (handle, channels) = Agent::builder(provider).build()?.start();
/// let AgentChannels { input, mut events, .. } = channels;
/// input.send("Hi").await?;
/// while let Some(envelope) = events.recv().await {
///     if envelope.event == AgentEvent::TurnEnd {
///         break;
///     }
/// }
/// handle.shutdown().await;
/// assert!(handle.has_ended() && input.send("Again").await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AgentHandle(Arc<SessionControl>);

impl AgentHandle {
    /// Cancels the current run, if any, even if its events are not read.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorCode::Shutdown`](forgeline_types::ErrorCode::Shutdown) if the agent has ended.
    pub fn cancel(&self) -> Result<(), AgentError> {
        self.0.cancel()
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
        ClientCalls::of_agent(Arc::clone(&self.0)).complete(client_call_id, result)
    }

    /// Cancels the current run, drops pending inputs, and returns when the agent's task has ended. The events that close open parts are still delivered.
    ///
    /// A second call waits like the first.
    ///
    /// # Cancel safety
    ///
    /// The agent ends even if the future is dropped.
    pub async fn shutdown(&self) {
        self.0.shutdown.cancel();
        self.0.tasks.wait().await;
    }

    /// Waits until the agent has ended, for any reason.
    pub async fn done(&self) {
        self.0.tasks.wait().await;
    }

    /// Returns `true` once the agent has ended or was asked to end.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.0.has_ended()
    }
}

impl fmt::Debug for AgentHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AgentHandle").field("ended", &self.has_ended()).finish()
    }
}

/// Spawns the task of an agent.
pub(crate) fn start(agent: Arc<Agent>) -> (AgentHandle, AgentChannels) {
    let config = &agent.parts.config;
    let (events_in, events) = channel::channel(config.event_capacity);
    let (inputs_in, inputs) = mpsc::channel(config.input_capacity);
    let control = SessionControl::new();
    let capacity = config.input_capacity;
    let server = SessionTask {
        agent,
        events: events_in,
        inputs: QueuedInputs { queue: inputs, waiting: VecDeque::new(), capacity },
        control: Arc::clone(&control),
    };
    control.tasks.spawn(server.serve());
    control.tasks.close();
    let channels = AgentChannels {
        input: InputSender { inputs: inputs_in, control: Arc::clone(&control) },
        events,
        approval: Approvals::of_agent(Arc::clone(&control)),
        client_calls: ClientCalls::of_agent(Arc::clone(&control)),
        questions: Questions::of_agent(Arc::clone(&control)),
        cancel: CancelSender(Arc::clone(&control)),
        shutdown: ShutdownSender(Arc::clone(&control)),
    };
    (AgentHandle(control), channels)
}

/// Inputs that arrived, in order.
struct QueuedInputs {
    queue: mpsc::Receiver<Input>,
    /// Inputs taken from the queue during a run, when looking for a cancellation.
    waiting: VecDeque<Box<RunInput>>,
    capacity: usize,
}

impl QueuedInputs {
    /// Waits for the user's next message; `None` when no more can arrive.
    async fn next(&mut self) -> Option<Box<RunInput>> {
        if let Some(input) = self.waiting.pop_front() {
            return Some(input);
        }
        loop {
            match self.queue.recv().await? {
                Input::User(input) => return Some(input),
                Input::Steer { message, .. } | Input::FollowUp { message } => {
                    return Some(Box::new(message.into()));
                }
                // Between runs there is nothing to cancel.
                Input::Cancel => {}
            }
        }
    }

    /// Waits for the next cancellation; messages that arrive meanwhile steer the run, or are kept
    /// for later.
    async fn cancellation(&mut self, steering: &Steering) {
        while self.waiting.len() < self.capacity {
            match self.queue.recv().await {
                Some(Input::Cancel) => return,
                Some(Input::User(input)) => self.waiting.push_back(input),
                Some(Input::Steer { message, now }) => {
                    self.steer(steering, UserMessage::Steer { message, now });
                }
                Some(Input::FollowUp { message }) => {
                    self.steer(steering, UserMessage::FollowUp { message });
                }
                None => break,
            }
        }
        std::future::pending::<()>().await;
    }

    /// Steers the run; a message that the run does not accept any more becomes an input of its own.
    fn steer(&mut self, steering: &Steering, said: UserMessage) {
        if steering.say(said.clone()).is_err()
            && let Some(message) = said.into_message()
        {
            self.waiting.push_back(Box::new(message.into()));
        }
    }
}

/// The task of a started agent.
struct SessionTask {
    agent: Arc<Agent>,
    events: Sender<Envelope>,
    inputs: QueuedInputs,
    control: Arc<SessionControl>,
}

impl SessionTask {
    async fn serve(mut self) {
        let shutdown = self.control.shutdown.clone();
        let events = self.events.clone();
        loop {
            let input = tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                () = events.closed() => break,
                input = self.inputs.next() => input,
            };
            let Some(input) = input else { break };
            let mut backlog = self.turn(input).await;
            self.control.current.send_replace(None);
            while let Some(envelope) = backlog.pop_front() {
                tokio::select! {
                    biased;
                    () = shutdown.cancelled() => {
                        backlog.push_front(envelope);
                        break;
                    }
                    sent = events.send(envelope.clone()) => if sent.is_err() { break },
                }
            }
            if !backlog.is_empty() {
                events.send_last(backlog);
                break;
            }
        }
        // Senders that are still held return an error from now on.
        shutdown.cancel();
    }

    /// Runs one input; returns the events that the reader has yet to receive.
    async fn turn(&mut self, input: Box<RunInput>) -> VecDeque<Envelope> {
        let cancel = self.control.shutdown.child_token();
        let start = RunStart::Input(input);
        let steering = Steering::new(&cancel).of_model(start.model(&self.agent));
        let current = CurrentRun { cancel: cancel.clone(), steering: steering.clone() };
        self.control.current.send_replace(Some(current));
        let emitter = EventEmitter::new(next_run_id(), Some(self.events.clone()), cancel.clone())
            .steered_by(steering.clone());
        let mut run = std::pin::pin!(driver::run(&self.agent, start, emitter));
        loop {
            tokio::select! {
                biased;
                (_, backlog) = &mut run => return backlog,
                () = self.events.closed(), if !cancel.is_cancelled() => cancel.cancel(),
                () = self.inputs.cancellation(&steering), if !cancel.is_cancelled() => cancel.cancel(),
            }
        }
    }
}
