//! A started agent: inputs in, events out.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Input, RunInput, Steering,
    clock::next_run_id,
    driver::{self, Shared as Agent, Start},
    emitter::Emitter,
    state::Said,
};
use crate::{
    llm::channel::{self, Receiver, Sender},
    types::{AgentError, Envelope, ErrorCode},
};

/// The two channels of a started agent. Dropping them ends the agent.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentChannels {
    /// The inputs; those that arrive during a run wait in order.
    pub input: InputSender,
    /// The events of all runs, in order. A reader that pauses makes the agent pause.
    pub events: Receiver<Envelope>,
}

/// The sender of inputs to a started agent; clones send to the same agent. When the last one is
/// dropped, the agent serves the inputs that wait and ends.
#[derive(Clone)]
pub struct InputSender {
    inputs: mpsc::Sender<Input>,
    shutdown: CancellationToken,
}

impl InputSender {
    /// Waits for a place in the queue and sends `input`.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::Shutdown`] when the agent has ended or is about to.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait has sent nothing.
    pub async fn send(&self, input: impl Into<Input>) -> Result<(), AgentError> {
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => Err(has_ended()),
            sent = self.inputs.send(input.into()) => sent.map_err(|_| has_ended()),
        }
    }
}

impl fmt::Debug for InputSender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("InputSender").finish_non_exhaustive()
    }
}

/// A handle that controls a started agent; clones control the same agent. Dropping a handle changes
/// nothing.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{AgentChannels, DefaultAgent},
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::AgentEvent,
/// };
///
/// let provider = ScriptedProvider::new([ScriptedTurn::new().text("Hello.")]);
/// let (handle, channels) = DefaultAgent::builder(provider).build()?.start();
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
pub struct AgentHandle {
    shared: Arc<Shared>,
}

struct Shared {
    shutdown: CancellationToken,
    /// Cancels the current run; between runs, nothing.
    current: Mutex<CancellationToken>,
    tasks: TaskTracker,
}

impl AgentHandle {
    /// Cancels the current run, if any, even while the events are not read.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::Shutdown`] when the agent has ended.
    pub fn cancel(&self) -> Result<(), AgentError> {
        if self.has_ended() {
            return Err(has_ended());
        }
        self.shared.current.lock().unwrap_or_else(PoisonError::into_inner).cancel();
        Ok(())
    }

    /// Cancels the current run, drops the inputs that wait, and returns when the agent's task has
    /// ended. The events that end what is open are still delivered.
    ///
    /// A second call waits like the first.
    ///
    /// # Cancel safety
    ///
    /// The agent ends, too, when the wait is dropped.
    pub async fn shutdown(&self) {
        self.shared.shutdown.cancel();
        self.shared.tasks.wait().await;
    }

    /// Waits until the agent has ended, for whatever reason.
    pub async fn done(&self) {
        self.shared.tasks.wait().await;
    }

    /// Returns `true` once the agent has ended, or was told to.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.shared.shutdown.is_cancelled() || self.shared.tasks.is_empty()
    }
}

impl fmt::Debug for AgentHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AgentHandle").field("ended", &self.has_ended()).finish()
    }
}

fn has_ended() -> AgentError {
    AgentError::new(ErrorCode::Shutdown, "the agent has been shut down; start it again to go on")
}

/// Spawns the task of an agent.
pub(super) fn start(agent: Arc<Agent>) -> (AgentHandle, AgentChannels) {
    let config = &agent.parts.config;
    let (events_in, events) = channel::channel(config.event_capacity);
    let (inputs_in, inputs) = mpsc::channel(config.input_capacity);
    let shared = Arc::new(Shared {
        shutdown: CancellationToken::new(),
        current: Mutex::new(CancellationToken::new()),
        tasks: TaskTracker::new(),
    });
    let capacity = config.input_capacity;
    let server = Server {
        agent,
        events: events_in,
        inputs: Inputs { queue: inputs, waiting: VecDeque::new(), capacity },
        shared: Arc::clone(&shared),
    };
    shared.tasks.spawn(server.serve());
    shared.tasks.close();
    let input = InputSender { inputs: inputs_in, shutdown: shared.shutdown.clone() };
    (AgentHandle { shared }, AgentChannels { input, events })
}

/// Inputs that arrived, in order.
struct Inputs {
    queue: mpsc::Receiver<Input>,
    /// Inputs taken from the queue during a run, to find a cancellation among them.
    waiting: VecDeque<Box<RunInput>>,
    capacity: usize,
}

impl Inputs {
    /// Waits for the next message of the user; `None` when nothing can come any more.
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

    /// Waits for the next cancellation; messages that arrive meanwhile steer the run, or are kept for
    /// later.
    async fn cancellation(&mut self, steering: &Steering) {
        while self.waiting.len() < self.capacity {
            match self.queue.recv().await {
                Some(Input::Cancel) => return,
                Some(Input::User(input)) => self.waiting.push_back(input),
                Some(Input::Steer { message, now }) => {
                    self.steer(steering, Said::Steer { message, now });
                }
                Some(Input::FollowUp { message }) => {
                    self.steer(steering, Said::FollowUp { message });
                }
                None => break,
            }
        }
        std::future::pending::<()>().await;
    }

    /// Steers the run; what it does not hear any more is an input of its own.
    fn steer(&mut self, steering: &Steering, said: Said) {
        if steering.say(said.clone()).is_err() {
            self.waiting.push_back(Box::new(said.into_message().into()));
        }
    }
}

/// The task of a started agent.
struct Server {
    agent: Arc<Agent>,
    events: Sender<Envelope>,
    inputs: Inputs,
    shared: Arc<Shared>,
}

impl Server {
    async fn serve(mut self) {
        let shutdown = self.shared.shutdown.clone();
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
        // Senders of inputs that are still held fail from now on.
        shutdown.cancel();
    }

    /// Runs one input; returns the events that the reader must still get.
    async fn turn(&mut self, input: Box<RunInput>) -> VecDeque<Envelope> {
        let cancel = self.shared.shutdown.child_token();
        self.shared.current.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&cancel);
        let steering = Steering::new(&cancel);
        let emitter = Emitter::new(next_run_id(), Some(self.events.clone()), cancel.clone())
            .steered_by(steering.clone());
        let mut run = std::pin::pin!(driver::run(&self.agent, Start::Input(input), emitter));
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
