//! The builder of agents.

use std::{
    any::Any,
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use super::{agent::Agent, stored_conversations::StoredConversations};
use crate::{
    access::{AuditSink, Authorizer, Permissions},
    approval::{ApprovalPolicy, Approver, OutsideText, SessionGrant},
    config::{AgentConfig, AtLimit, CallMode, CallStart, KeepThinking, NoToolCall},
    journal::JournalStore,
    memory::{ConversationMemory, Memory},
    observe::Observer,
    prompts::SystemPrompt,
    run::{Budget, SharedState},
    search::ToolSearch,
    setup::AgentSetup,
    tools::{
        AskQuestionTool, ConverseTool, RegistryError, TaskCompletionTool, Tool, ToolRegistry,
        ToolSource,
    },
};
use forgeline_llm::{Prices, Provider, ProviderError, Request, TokenEstimator};
use forgeline_parser::ToolDialect;
use forgeline_types::{AgentError, Text, setters};

/// A builder for an [`Agent`]; see [`Agent::builder`]. A clone builds another agent.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::{Agent, config::CallMode, tools::Calculator},
///     llm::{Request, demo::DemoProvider},
/// };
///
/// let agent = Agent::builder(DemoProvider::new())
///     .system("Answer briefly.")
///     .tool(Calculator)
///     .request(Request::default().temperature(0.2))
///     .call_mode(CallMode::Text)
///     .max_turns(5)
///     .build()?;
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Clone)]
pub struct AgentBuilder {
    provider: Arc<dyn Provider>,
    models: Vec<(Text, Arc<dyn Provider>)>,
    prompts: Vec<Arc<dyn SystemPrompt>>,
    tools: Vec<Arc<dyn Tool>>,
    sources: Vec<Arc<dyn ToolSource>>,
    state: SharedState,
    memory: Box<dyn Memory>,
    conversations: Option<Arc<dyn JournalStore>>,
    summarizer: Option<Arc<dyn Provider>>,
    estimator: TokenEstimator,
    approver: Option<Arc<dyn Approver>>,
    authorizer: Option<Arc<dyn Authorizer>>,
    permissions: Option<Arc<dyn Permissions>>,
    audit: Option<Arc<dyn AuditSink>>,
    grants: Vec<SessionGrant>,
    trusted_sources: Vec<Text>,
    observers: Vec<Arc<dyn Observer>>,
    request: Request,
    config: AgentConfig,
}

/// An error in the configuration of an agent.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::{Agent, tools::Calculator}, llm::demo::DemoProvider};
///
/// let builder = Agent::builder(DemoProvider::new()).tool(Calculator).tool(Calculator);
/// let error = builder.build().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the tool name `calculator` is taken; give each tool a unique name"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A tool could not be registered; the message contains the name of the tool and the reason.
    #[error(transparent)]
    Tool(#[from] RegistryError),
    /// A limit is zero.
    #[error("`{option}` is 0; it must be greater than 0")]
    #[non_exhaustive]
    Zero {
        /// The name of the option.
        option: &'static str,
    },
    /// An option does not fit the others.
    #[error("`{option}` {problem}")]
    #[non_exhaustive]
    Unfit {
        /// The name of the option.
        option: &'static str,
        /// The problem, and a remedy.
        problem: &'static str,
    },
    /// The provider could not be built.
    #[error("{0}")]
    Provider(AgentError),
}

impl From<ProviderError> for BuildError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error.into())
    }
}

impl Agent {
    /// Returns a builder for an agent; everything except the provider has a default.
    pub fn builder(provider: impl Provider + 'static) -> AgentBuilder {
        AgentBuilder::new(provider)
    }
}

impl AgentBuilder {
    fn new(provider: impl Provider + 'static) -> Self {
        Self {
            provider: Arc::new(provider),
            models: Vec::new(),
            prompts: Vec::new(),
            tools: Vec::new(),
            sources: Vec::new(),
            state: SharedState::default(),
            memory: Box::new(ConversationMemory::default()),
            conversations: None,
            summarizer: None,
            estimator: TokenEstimator::new(),
            approver: None,
            authorizer: None,
            permissions: None,
            audit: None,
            grants: Vec::new(),
            trusted_sources: Vec::new(),
            observers: Vec::new(),
            request: Request::default(),
            config: AgentConfig::default(),
        }
    }

    /// Adds a part of the system prompt: a string or an async function. Default: none.
    #[must_use]
    pub fn system(self, part: impl SystemPrompt + 'static) -> Self {
        self.system_part(Arc::new(part))
    }

    pub(crate) fn system_part(mut self, part: Arc<dyn SystemPrompt>) -> Self {
        self.prompts.push(part);
        self
    }

    /// Adds a model that an input may [choose](crate::RunInput::model) by this name; the agent's own model may be chosen by its id. If two models
    /// have the same name, the first is used. Default: none; every run uses the agent's own model.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use forgeline::{
    ///     agent::{Agent, RunInput},
    ///     testing::{ScriptedProvider, ScriptedTurn},
    /// };
    ///
    /// let (small, large) = (ScriptedTurn::new().text("Hm."), ScriptedTurn::new().text("42."));
    /// let agent = Agent::builder(ScriptedProvider::new([small]))
    ///     .model("large", ScriptedProvider::new([large]))
    ///     .build()?;
    /// assert_eq!(agent.run(RunInput::from("What is 6 * 7?").model("large")).await?.text, "42.");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn model(mut self, name: impl Into<Text>, provider: impl Provider + 'static) -> Self {
        self.models.push((name.into(), Arc::new(provider)));
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Adds a source of tools, which is queried for each run; see [`ToolSource`].
    #[must_use]
    pub fn tool_source(mut self, source: impl ToolSource + 'static) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// Shares a value with the tools, at most one per type; see [`ToolContext::state`](crate::tools::ToolContext::state).
    #[must_use]
    pub fn state<T: Any + Send + Sync>(mut self, value: Arc<T>) -> Self {
        self.state.insert(value);
        self
    }

    /// Sets the memory of which each conversation begins with a copy. Default: an empty [`ConversationMemory`].
    #[must_use]
    pub fn memory(mut self, memory: impl Memory + 'static) -> Self {
        self.memory = Box::new(memory);
        self
    }

    /// Sets the store of the conversations that inputs [name](crate::RunInput::conversation): one journal each, to which a run writes each step before
    /// the next one begins. Conversations begin empty in it. Default: none; see [`Agent::open`].
    #[must_use]
    pub fn conversations(mut self, store: impl JournalStore + 'static) -> Self {
        self.conversations = Some(Arc::new(store));
        self
    }

    /// Sets the model that summarizes the beginning of a long conversation; see [`AgentConfig::summarize_at`]. Default: the agent's own model.
    #[must_use]
    pub fn summarizer(mut self, provider: impl Provider + 'static) -> Self {
        self.summarizer = Some(Arc::new(provider));
        self
    }

    /// Sets the estimator of the tokens of requests, for agents with a [limit](AgentConfig::max_context_tokens). Its own scale is ignored; the provider's
    /// reports determine the scale. Default: an estimator that needs no vocabulary.
    #[must_use]
    pub fn token_estimator(mut self, estimator: TokenEstimator) -> Self {
        self.estimator = estimator.without_scale();
        self
    }

    /// Sets the approver of calls that need a person's approval. Default: none; the holders of a run's [`Approvals`](crate::steering::Approvals) may answer.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Sets the authorizer of calls at the client. Default: none; all calls whose arguments fit are allowed.
    #[must_use]
    pub fn authorizer(mut self, authorizer: impl Authorizer + 'static) -> Self {
        self.authorizer = Some(Arc::new(authorizer));
        self
    }

    /// Sets the rules for which tools a caller may use. Default: [`NamedPermissions`](crate::access::NamedPermissions).
    #[must_use]
    pub fn permissions(mut self, permissions: impl Permissions + 'static) -> Self {
        self.permissions = Some(Arc::new(permissions));
        self
    }

    /// Sets the receiver of records of refused calls. Default: none; they are only in the log.
    #[must_use]
    pub fn audit(mut self, sink: impl AuditSink + 'static) -> Self {
        self.audit = Some(Arc::new(sink));
        self
    }

    /// Allows all calls of these tools without asking; see [`OutsideText`](crate::approval::OutsideText) for when this does not count. Default: none.
    #[must_use]
    pub fn grant<N: Into<Text>>(mut self, tool_names: impl IntoIterator<Item = N>) -> Self {
        let grant = |name: N| SessionGrant { tool: name.into(), pattern: None };
        self.grants.extend(tool_names.into_iter().map(grant));
        self
    }

    /// Allows all calls of the tools of these [sources](crate::tools::Tool::outside_source) without asking, such as `mcp.notes` for an MCP server, also
    /// those that are listed later. Once text from another source is in the conversation, each irreversible call requires approval again. Default: none.
    #[must_use]
    pub fn trust_sources<N: Into<Text>>(mut self, sources: impl IntoIterator<Item = N>) -> Self {
        self.trusted_sources.extend(sources.into_iter().map(Into::into));
        self
    }

    /// Adds an observer of the runs. Observers are called in the order in which they were added. Default: none.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Sets the template of all requests, for example with their temperature. Its messages and tools are replaced, and its system prompt follows the
    /// agent's. Default: an empty template, except for [`PromptCache::Marks`](forgeline_llm::PromptCache) if the provider's capabilities include prompt
    /// caching, since every turn sends the conversation again.
    #[must_use]
    pub fn request(mut self, template: Request) -> Self {
        self.request = template;
        self
    }

    /// Sets all limits and policies at once.
    #[must_use]
    pub fn config(mut self, config: AgentConfig) -> Self {
        self.config = config;
        self
    }

    setters! {
        AgentConfig in config:
        max_turns(u32),
        at_limit(AtLimit),
        no_tool_call(NoToolCall),
        continue_cut(u32),
        call_mode(CallMode),
        call_start(CallStart),
        tool_dialect(some ToolDialect),
        keep_thinking(KeepThinking),
        loop_breaking_tools(bool),
        budget(Budget),
        answer_repairs(u32),
        prices(some Prices),
        run_timeout(some Duration),
        tool_timeout(Duration),
        tool_grace(Duration),
        max_parallel_calls(usize),
        max_result_chars(usize),
        breaker_failures(u32),
        loop_guard(bool),
        approval(ApprovalPolicy),
        outside_text(OutsideText),
        approval_timeout(Duration),
        client_timeout(Duration),
        preview_timeout(Duration),
        journal_timeout(Duration),
        queue_timeout(Duration),
        prompt_timeout(Duration),
        source_timeout(Duration),
        max_context_tokens(some u64),
        summarize_at(some u8),
        summary_timeout(Duration),
        stop_repetition(bool),
        tool_search(ToolSearch),
        event_capacity(usize),
    }

    /// Builds the agent.
    ///
    /// # Errors
    ///
    /// Returns an error if a tool's name is taken, reserved or invalid, a limit is zero, or an option does not fit.
    pub fn build(self) -> Result<Agent, BuildError> {
        let config = self.config;
        let limits = [
            ("max_turns", config.max_turns as usize),
            ("max_context_tokens", usize::from(config.max_context_tokens != Some(0))),
            ("summarize_at", usize::from(config.summarize_at != Some(0))),
            ("max_parallel_calls", config.max_parallel_calls),
            ("breaker_failures", config.breaker_failures as usize),
            ("event_capacity", config.event_capacity),
            ("input_capacity", config.input_capacity),
            ("tool_search.most", config.tool_search.most),
            ("tool_search.window", usize::from(config.tool_search.window != 0)),
        ];
        let times = [
            ("approval_timeout", Some(config.approval_timeout)),
            ("client_timeout", Some(config.client_timeout)),
            ("preview_timeout", Some(config.preview_timeout)),
            ("journal_timeout", Some(config.journal_timeout)),
            ("queue_timeout", Some(config.queue_timeout)),
            ("prompt_timeout", Some(config.prompt_timeout)),
            ("source_timeout", Some(config.source_timeout)),
            ("summary_timeout", Some(config.summary_timeout)),
            ("run_timeout", config.run_timeout),
        ];
        if let Some((option, _)) = times.into_iter().find(|(_, time)| *time == Some(Duration::ZERO))
        {
            return Err(BuildError::Zero { option });
        }
        if let Some((option, _)) = limits.into_iter().find(|(_, limit)| *limit == 0) {
            return Err(BuildError::Zero { option });
        }
        if let Some(option) = config.budget.zero() {
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
        let (request, approver) = (self.request, self.approver);
        let mut parts = AgentSetup {
            provider,
            models: self.models,
            prompts,
            tools,
            sources: self.sources,
            specs: Arc::default(),
            index: None,
            last_index: Arc::default(),
            state,
            request,
            approver,
            summarizer: self.summarizer,
            estimator: self.estimator,
            authorizer: self.authorizer,
            permissions: self.permissions,
            audit: self.audit,
            host_audit: None,
            is_gated: false,
            grants: self.grants,
            trusted_sources: self.trusted_sources,
            observers: self.observers.into(),
            config,
            card: OnceLock::new(),
        };
        if let Some(problem) = unfit_share(&parts) {
            return Err(BuildError::Unfit { option: "summarize_at", problem });
        }
        parts.offer_tools()?;
        let conversations = self.conversations.map(StoredConversations::new);
        Ok(Agent::new(parts, self.memory, conversations))
    }
}

/// Returns the problem of the share at which the conversation is summarized, if any.
fn unfit_share(parts: &AgentSetup) -> Option<&'static str> {
    match (parts.config.summarize_at, parts.max_context_tokens()) {
        (Some(101..), _) => Some("is above 100; give a share of `max_context_tokens` in percent"),
        (Some(_), None) => Some(
            "is a share of `max_context_tokens`, which is not set, and the model's window is not known; set both",
        ),
        _ => None,
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AgentBuilder").field("config", &self.config).finish_non_exhaustive()
    }
}
