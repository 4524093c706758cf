//! The agent.

use std::{fmt, sync::Arc};

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{
    AgentBuilder, AgentChannels, AgentConfig, AgentHandle, CallMode, RunError, RunOutcome,
    RunStream,
    core::StreamOptions,
    emitter::Emitter,
    memory::Memory,
    prompts::{SystemPrompt, describe},
    run, run_id, session,
    tools::{SharedState, ToolRegistry},
};
use crate::{
    llm::{Provider, Request, ToolSpec, parser::ToolDialect},
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
    plan: Arc<Plan>,
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

/// What is the same in every run, made once.
#[derive(Debug)]
pub(super) struct Plan {
    /// Whether calls go through the provider's function calling.
    pub(super) native: bool,
    /// What a native request carries.
    pub(super) specs: Arc<[ToolSpec]>,
    /// The system prompt's section on tools; empty in native mode and without tools.
    pub(super) section: String,
    /// How an answer is read.
    pub(super) options: StreamOptions,
}

impl Plan {
    fn new(parts: &Parts) -> Self {
        let native = match parts.config.call_mode {
            CallMode::Auto => parts.provider.info().capabilities.tools,
            CallMode::Native => true,
            CallMode::Text => false,
        };
        let all = || parts.tools.specs().cloned();
        let specs = if native { all().collect() } else { Arc::from([]) };
        let described = !native && !parts.tools.is_empty();
        let section = if described { describe(parts.tools.specs()) } else { String::new() };
        let default = if described { ToolDialect::AUTO } else { ToolDialect::NONE };
        let dialect = parts.config.tool_dialect.clone().unwrap_or(default);
        let schemas: Vec<_> = all().map(|spec| (spec.name, spec.parameters)).collect();
        let options = StreamOptions::default().tools(dialect).schemas(schemas);
        Self { native, specs, section, options }
    }
}

impl DefaultAgent {
    /// Starts to put an agent together; everything but the provider has a default.
    pub fn builder(provider: impl Provider + 'static) -> AgentBuilder {
        AgentBuilder::new(provider)
    }

    pub(super) fn new(parts: Parts, memory: Box<dyn Memory>) -> Self {
        let plan = Plan::new(&parts);
        Self { parts: Arc::new(parts), plan: Arc::new(plan), memory: Arc::new(Mutex::new(memory)) }
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

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
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
