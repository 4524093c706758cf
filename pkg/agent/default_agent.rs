//! The agent.

use std::{fmt, sync::Arc};

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{
    AgentChannels, AgentHandle, RunError, RunOutcome, RunStream,
    call_mode::Modes,
    clock::next_run_id,
    driver::{self, Shared, Written},
    emitter::Emitter,
    memory::Memory,
    parts::Parts,
    session,
};
use crate::types::{Message, Transcript};

/// An agent: a model, its tools and a conversation.
///
/// A run sends the user's input to the model and runs the tools that it calls, turn by turn, until the
/// final answer. Runs of one agent share the conversation; they run one after the other, in the order
/// in which they were started. Clones are handles to the same agent.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{agent::{DefaultAgent, tools::Calculator}, llm::demo::DemoProvider};
///
/// let agent = DefaultAgent::builder(DemoProvider::new()).tool(Calculator).build()?;
/// let outcome = agent.run("What is 6 * 7?").await?;
/// assert!(outcome.text.contains("42"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DefaultAgent(Arc<Shared>);

impl DefaultAgent {
    pub(super) fn new(parts: Parts, memory: Box<dyn Memory>) -> Self {
        let modes = Modes::new(&parts);
        let (memory, written) = (Mutex::new(memory), Written::default());
        Self(Arc::new(Shared { parts, modes, memory, written }))
    }

    /// Runs `input` to its end and returns the outcome. The input is a text, or a message with what goes
    /// beside it, such as pictures.
    ///
    /// # Errors
    ///
    /// When the provider fails, a limit of the agent is passed, or a part of the system prompt
    /// fails. The error holds what had arrived.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the run: the provider's stream is closed, tools are dropped. The
    /// conversation keeps the messages that were whole.
    pub async fn run(&self, input: impl Into<Message>) -> Result<RunOutcome, RunError> {
        let emitter = Emitter::new(next_run_id(), None, CancellationToken::new());
        driver::run(&self.0, input.into(), emitter).await.0.into_result()
    }

    /// Returns a run as a stream of its events; nothing happens before the first is asked for.
    pub fn run_stream(&self, input: impl Into<Message>) -> RunStream {
        RunStream::new(Arc::clone(&self.0), input.into())
    }

    /// Spawns a task that serves inputs one after the other.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn start(&self) -> (AgentHandle, AgentChannels) {
        session::start(Arc::clone(&self.0))
    }

    /// Returns the conversation so far; waits for the current run.
    pub async fn transcript(&self) -> Transcript {
        self.0.memory.lock().await.transcript().clone()
    }

    /// Clears the conversation; waits for the current run.
    pub async fn clear(&self) {
        self.0.memory.lock().await.clear();
    }
}

impl fmt::Debug for DefaultAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("DefaultAgent")
            .field("model", self.0.parts.provider.info())
            .field("tools", &self.0.parts.tools)
            .field("config", &self.0.parts.config)
            .finish_non_exhaustive()
    }
}
