//! Putting an agent together.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use super::{
    AgentConfig, AtMaxTurns, CallMode, DefaultAgent, NoToolCall,
    default_agent::Parts,
    memory::{ConversationMemory, Memory},
    prompts::SystemPrompt,
    tools::{
        AskQuestionTool, ConverseTool, RegistryError, SharedState, TaskCompletionTool, Tool,
        ToolRegistry,
    },
};
use crate::llm::{Provider, Request, parser::ToolDialect};

/// Puts a [`DefaultAgent`] together; see [`DefaultAgent::builder`].
#[must_use]
pub struct AgentBuilder {
    provider: Arc<dyn Provider>,
    prompts: Vec<Arc<dyn SystemPrompt>>,
    tools: Vec<Arc<dyn Tool>>,
    state: SharedState,
    memory: Box<dyn Memory>,
    request: Request,
    config: AgentConfig,
}

/// Why an agent could not be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A tool could not be registered.
    #[error("a tool cannot be registered")]
    Tool(#[from] RegistryError),
    /// A bound is zero.
    #[error("`{option}` must be at least 1")]
    Zero {
        /// Which.
        option: &'static str,
    },
}

impl AgentBuilder {
    pub(super) fn new(provider: impl Provider + 'static) -> Self {
        Self {
            provider: Arc::new(provider),
            prompts: Vec::new(),
            tools: Vec::new(),
            state: SharedState::default(),
            memory: Box::new(ConversationMemory::default()),
            request: Request::default(),
            config: AgentConfig::default(),
        }
    }

    /// Adds a part of the system prompt: a string or an async function. Default: none.
    pub fn system(mut self, part: impl SystemPrompt + 'static) -> Self {
        self.prompts.push(Arc::new(part));
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Shares a value with the tools, one a type; see
    /// [`ToolContext::state`](super::tools::ToolContext::state).
    pub fn state<T: Any + Send + Sync>(mut self, value: Arc<T>) -> Self {
        self.state.insert(value);
        self
    }

    /// Where the conversation is kept. Default: an empty [`ConversationMemory`].
    pub fn memory(mut self, memory: impl Memory + 'static) -> Self {
        self.memory = Box::new(memory);
        self
    }

    /// What every request is made from, such as its temperature; its messages, system prompt and
    /// tools are the agent's. Default: nothing set but, where the provider's capabilities
    /// name prompt caching, [`PromptCache::Marks`](crate::llm::PromptCache),
    /// since every turn sends the conversation again.
    pub fn request(mut self, template: Request) -> Self {
        self.request = template;
        self
    }

    /// Sets all bounds and policies at once.
    pub fn config(mut self, config: AgentConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets [`AgentConfig::max_turns`].
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.config.max_turns = turns;
        self
    }

    /// Sets [`AgentConfig::at_max_turns`].
    pub fn at_max_turns(mut self, policy: AtMaxTurns) -> Self {
        self.config.at_max_turns = policy;
        self
    }

    /// Sets [`AgentConfig::no_tool_call`].
    pub fn no_tool_call(mut self, policy: NoToolCall) -> Self {
        self.config.no_tool_call = policy;
        self
    }

    /// Sets [`AgentConfig::call_mode`].
    pub fn call_mode(mut self, mode: CallMode) -> Self {
        self.config.call_mode = mode;
        self
    }

    /// Sets [`AgentConfig::tool_dialect`].
    pub fn tool_dialect(mut self, dialect: ToolDialect) -> Self {
        self.config.tool_dialect = Some(dialect);
        self
    }

    /// Sets [`AgentConfig::loop_breaking_tools`].
    pub fn loop_breaking_tools(mut self, wanted: bool) -> Self {
        self.config.loop_breaking_tools = wanted;
        self
    }

    /// Sets [`AgentConfig::tool_timeout`].
    pub fn tool_timeout(mut self, timeout: Duration) -> Self {
        self.config.tool_timeout = timeout;
        self
    }

    /// Sets [`AgentConfig::max_parallel_calls`].
    pub fn max_parallel_calls(mut self, calls: usize) -> Self {
        self.config.max_parallel_calls = calls;
        self
    }

    /// Sets [`AgentConfig::max_result_chars`].
    pub fn max_result_chars(mut self, chars: usize) -> Self {
        self.config.max_result_chars = chars;
        self
    }

    /// Sets [`AgentConfig::breaker_failures`].
    pub fn breaker_failures(mut self, failures: u32) -> Self {
        self.config.breaker_failures = failures;
        self
    }

    /// Sets [`AgentConfig::event_capacity`].
    pub fn event_capacity(mut self, events: usize) -> Self {
        self.config.event_capacity = events;
        self
    }

    /// Builds the agent.
    ///
    /// # Errors
    ///
    /// When a tool's name is taken, reserved or not valid, or a bound is zero.
    pub fn build(self) -> Result<DefaultAgent, BuildError> {
        let config = self.config;
        let bounds = [
            ("max_turns", config.max_turns as usize),
            ("max_parallel_calls", config.max_parallel_calls),
            ("breaker_failures", config.breaker_failures as usize),
            ("event_capacity", config.event_capacity),
            ("input_capacity", config.input_capacity),
        ];
        if let Some((option, _)) = bounds.into_iter().find(|(_, bound)| *bound == 0) {
            return Err(BuildError::Zero { option });
        }
        let mut tools = ToolRegistry::default();
        for tool in self.tools {
            tools.register(tool)?;
        }
        if config.loop_breaking_tools {
            tools.register_protected(Arc::new(TaskCompletionTool))?;
            tools.register_protected(Arc::new(AskQuestionTool))?;
            tools.register_protected(Arc::new(ConverseTool))?;
        }
        let (provider, prompts, state) = (self.provider, self.prompts, self.state);
        let parts = Parts { provider, prompts, tools, state, request: self.request, config };
        Ok(DefaultAgent::new(parts, self.memory))
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AgentBuilder").field("config", &self.config).finish_non_exhaustive()
    }
}
