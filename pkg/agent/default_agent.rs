//! The agent.

use std::{fmt, sync::Arc};

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{
    AgentBuilder, AgentChannels, AgentConfig, AgentHandle, RunError, RunOutcome, RunStream,
    emitter::Emitter,
    memory::Memory,
    plan::Plans,
    prompts::SystemPrompt,
    run, run_id, session,
    tools::{SharedState, ToolRegistry},
};
use crate::{
    llm::{Provider, Request},
    types::Transcript,
};

/// An agent: a model, its tools and a conversation.
///
/// A run takes what the user said, lets the model answer and its tools run, turn by turn, until the
/// answer is there. Runs of one agent share the conversation; they happen one after the other, in
/// the order in which they were started. Clones are the same agent.
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
pub struct DefaultAgent {
    parts: Arc<Parts>,
    plans: Arc<Plans>,
    memory: Arc<Mutex<Box<dyn Memory>>>,
}

/// What an agent was built from.
pub(super) struct Parts {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) prompts: Vec<Arc<dyn SystemPrompt>>,
    pub(super) tools: ToolRegistry,
    pub(super) state: SharedState,
    pub(super) request: Request,
    pub(super) config: AgentConfig,
}

impl DefaultAgent {
    /// Starts to put an agent together; everything but the provider has a default.
    pub fn builder(provider: impl Provider + 'static) -> AgentBuilder {
        AgentBuilder::new(provider)
    }

    pub(super) fn new(parts: Parts, memory: Box<dyn Memory>) -> Self {
        let plans = Arc::new(Plans::new(&parts));
        Self { parts: Arc::new(parts), plans, memory: Arc::new(Mutex::new(memory)) }
    }

    /// Runs to the end.
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
    pub async fn run(&self, input: impl Into<String>) -> Result<RunOutcome, RunError> {
        let emitter = Emitter::new(run_id::next(), None, CancellationToken::new());
        run::run(self, input.into(), emitter).await.0.into_result()
    }

    /// Runs as the events are read; nothing happens before the first is asked for.
    pub fn run_stream(&self, input: impl Into<String>) -> RunStream {
        RunStream::new(self.clone(), input.into())
    }

    /// Serves inputs one after the other, on a task of its own.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn start(&self) -> (AgentHandle, AgentChannels) {
        session::start(self.clone())
    }

    /// The conversation so far; waits for the run that is going on.
    pub async fn transcript(&self) -> Transcript {
        self.memory.lock().await.transcript().clone()
    }

    /// Forgets the conversation; waits for the run that is going on.
    pub async fn clear(&self) {
        self.memory.lock().await.clear();
    }

    pub(super) fn parts(&self) -> &Parts {
        &self.parts
    }

    pub(super) fn plans(&self) -> &Plans {
        &self.plans
    }

    pub(super) fn memory(&self) -> &Mutex<Box<dyn Memory>> {
        &self.memory
    }
}

impl fmt::Debug for DefaultAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("DefaultAgent")
            .field("model", self.parts.provider.info())
            .field("tools", &self.parts.tools)
            .field("config", &self.parts.config)
            .finish_non_exhaustive()
    }
}
