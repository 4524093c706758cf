//! The parts of an agent.

use std::{
    iter,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use crate::{
    access::{AuditSink, Authorizer, HostAudit, Permissions},
    approval::{Approver, SessionGrant},
    config::AgentConfig,
    nesting,
    observe::Observer,
    prompts::SystemPrompt,
    run::{Budget, RunContext, SharedState},
    search::{FoundTools, ToolIndex},
    steering::AnswerGate,
    tools::{RegistryError, TOOL_SEARCH, Tool, ToolRegistry, ToolSearchTool, ToolSource},
};
use forgeline_llm::{Cost, ModelCard, Provider, Request, TokenEstimator, ToolSpec};
use forgeline_types::{AgentError, ErrorCode, ModelInfo, Text, UsageInfo, private::clipped};

/// The parts that an agent was built from, which its forks share. A run with tools from sources has its own.
#[derive(Clone)]
pub(crate) struct AgentSetup {
    pub(crate) provider: Arc<dyn Provider>,
    /// The models that an input may choose, by name.
    pub(crate) models: Vec<(Text, Arc<dyn Provider>)>,
    pub(crate) prompts: Vec<Arc<dyn SystemPrompt>>,
    pub(crate) tools: ToolRegistry,
    pub(crate) sources: Vec<Arc<dyn ToolSource>>,
    /// The descriptions of the tools, which the registry shares.
    pub(crate) specs: Arc<[ToolSpec]>,
    /// The index of tools to be found by a search, if there are too many to offer them all.
    pub(crate) index: Option<Arc<ToolIndex>>,
    /// The most recent index of a run with tools of its own.
    pub(crate) last_index: Arc<Mutex<Option<Arc<ToolIndex>>>>,
    pub(crate) state: SharedState,
    pub(crate) request: Request,
    pub(crate) estimator: TokenEstimator,
    /// The model that summarizes conversations, if it is not the agent's own.
    pub(crate) summarizer: Option<Arc<dyn Provider>>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    /// The rules about callers; `None` for [`NamedPermissions`](crate::access::NamedPermissions).
    pub(crate) permissions: Option<Arc<dyn Permissions>>,
    pub(crate) audit: Option<Arc<dyn AuditSink>>,
    /// The sink of the agent's host, which sub-agents inherit.
    pub(crate) host_audit: Option<HostAudit>,
    /// `true` when some runs may not be allowed to use all tools.
    pub(crate) is_gated: bool,
    /// The permissions granted from the start.
    pub(crate) grants: Vec<SessionGrant>,
    /// The names of the sources whose tools a person trusts.
    pub(crate) trusted_sources: Vec<Text>,
    /// The observers of the runs.
    pub(crate) observers: Arc<[Arc<dyn Observer>]>,
    pub(crate) config: AgentConfig,
    /// The catalog's entry for the model, once it has been looked up.
    pub(crate) card: OnceLock<Option<&'static ModelCard>>,
}

impl AgentSetup {
    /// Returns the names of the models that an input may choose, the agent's own first.
    pub(crate) fn model_names(&self) -> impl Iterator<Item = &Text> {
        iter::once(&self.provider.info().model).chain(self.models.iter().map(|(name, _)| name))
    }

    /// Returns the provider of the model that an input chose; `None` for the agent's own.
    ///
    /// # Errors
    ///
    /// Returns an error when the agent does not have the model.
    pub(crate) fn chosen(
        &self,
        run: &RunContext,
    ) -> Result<Option<&Arc<dyn Provider>>, AgentError> {
        let Some(name) = run.model() else { return Ok(None) };
        if let Some((_, provider)) = self.models.iter().find(|(known, _)| known == name) {
            return Ok(Some(provider));
        }
        if self.provider.info().model == name {
            return Ok(None);
        }
        let names: Vec<_> = self.model_names().map(|name| format!("`{name}`")).collect();
        let message = format!(
            "the agent has no model `{}`; choose one of {}",
            clipped(name, 60),
            names.join(", ")
        );
        Err(AgentError::new(ErrorCode::InvalidInput, message))
    }

    /// Returns the rules about answers for a tool; `None` if the agent has no tool with this name.
    pub(crate) fn answer_gate(&self, tool_name: &str) -> Option<AnswerGate> {
        let tool = Arc::clone(self.tools.find(tool_name)?.tool);
        Some(AnswerGate::new(tool, self.permissions.clone(), self.is_gated))
    }

    /// Returns `true` when some runs may not be allowed to use all tools.
    pub(crate) fn has_gates(&self) -> bool {
        let has_gate = |tool: &dyn Tool| tool.permission().is_some() || tool.surface().is_some();
        self.permissions.is_some() || self.tools.iter().any(|entry| has_gate(&**entry.tool))
    }

    /// Returns the descriptions of the tools that a model is offered from the start; `indirect`
    /// when it calls the others through one of these tools.
    pub(crate) fn offered(&self, indirect: bool) -> &Arc<[ToolSpec]> {
        let Some(index) = &self.index else { return &self.specs };
        if indirect { index.with_call() } else { index.first() }
    }

    /// Returns the maximum tokens of a request: the configured number, or else three quarters of the model's
    /// context window, if that is known and the server does not shorten conversations itself.
    pub(crate) fn max_context_tokens(&self) -> Option<u64> {
        let by_window = || self.set_window().map(room_in).or_else(|| room_of(self.provider.info()));
        self.config.max_context_tokens.or_else(by_window)
    }

    /// Returns the context window that each request sets, as it does for Ollama, which silently leaves out what is longer.
    pub(crate) fn set_window(&self) -> Option<u64> {
        let set = self.request.extra.get("options")?.get("num_ctx")?.as_u64();
        set.filter(|tokens| *tokens > 0)
    }

    /// Returns `true` when the requests of a run may have a limit.
    pub(crate) fn may_have_window(&self) -> bool {
        let has_room = |(_, it): &(Text, Arc<dyn Provider>)| room_of(it.info()).is_some();
        self.max_context_tokens().is_some() || self.models.iter().any(has_room)
    }

    /// Returns `true` when found tools are called through another one, with native calls.
    pub(crate) fn calls_through_one(&self) -> bool {
        let is_called = self.config.tool_search.found == FoundTools::Called;
        self.index.is_some() && is_called && !self.provider.info().deferred_tools
    }

    /// Updates the descriptions of the tools, or lets the model search if there are too many.
    ///
    /// # Errors
    ///
    /// Returns an error when the search tool cannot be added.
    pub(crate) fn offer_tools(&mut self) -> Result<(), RegistryError> {
        let search = &self.config.tool_search;
        let window = self.card().and_then(|card| card.context_tokens).unwrap_or(search.window);
        let window = self.config.max_context_tokens.map_or(window, |most| most.min(window));
        let is_searched = ToolIndex::is_needed(&self.tools, search, window);
        if is_searched && self.tools.find(TOOL_SEARCH).is_none() {
            self.tools.register_protected(Arc::new(ToolSearchTool))?;
        }
        self.specs = self.tools.share_specs();
        self.index = is_searched.then(|| self.index_of_tools());
        self.is_gated = self.has_gates();
        Ok(())
    }

    /// Returns the index of the tools: the most recent one, if it has the same tools.
    fn index_of_tools(&self) -> Arc<ToolIndex> {
        let mut last = self.last_index.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = last.as_ref().filter(|index| index.is_of(&self.specs)) {
            return Arc::clone(index);
        }
        let search = &self.config.tool_search;
        let index = Arc::new(ToolIndex::new(&self.tools, Arc::clone(&self.specs), search));
        *last = Some(Arc::clone(&index));
        index
    }

    /// Returns the cost of these tokens by the prices of the agent, or else of the catalog.
    pub(crate) fn cost(&self, usage: &UsageInfo) -> Option<Cost> {
        match self.config.prices {
            Some(prices) => prices.cost(usage),
            None => self.card()?.cost(usage),
        }
    }

    /// Checks that a limit of cost can be kept: the price of the model is known. A sub-agent, which shares the limit of the run above it, may have none.
    pub(crate) fn check_price(&self, own: Budget, model: &ModelInfo) -> Result<(), AgentError> {
        let has_price = |card: &ModelCard| card.prices.is_some();
        let is_known = || {
            self.config.prices.is_some()
                || ModelCard::for_model(&model.model).is_some_and(has_price)
        };
        let limit = self.config.budget.narrowed(own).cost;
        let Some(most) = limit.filter(|_| nesting::depth() == 0 && !is_known()) else {
            return Ok(());
        };
        let message = format!(
            "the cost budget of {most} cannot be kept: the price of the model `{}` is not known; expected \
             `AgentConfig::prices` (`--price` of the command), or a model that the catalog prices",
            model.model
        );
        Err(AgentError::new(ErrorCode::InvalidInput, message))
    }

    /// Returns the catalog's entry for the model.
    pub(crate) fn card(&self) -> Option<&'static ModelCard> {
        *self.card.get_or_init(|| {
            let model = &self.provider.info().model;
            let card = ModelCard::for_model(model);
            if card.is_none_or(|card| card.prices.is_none()) {
                tracing::debug!(%model, "the price of the model is not known, so no cost is counted");
            }
            card
        })
    }
}

/// Returns the number of tokens of a model's context window that a request may use: a quarter is
/// left for the answer, and for the error of the estimate.
fn room_of(model: &ModelInfo) -> Option<u64> {
    let card = || ModelCard::for_model(&model.model)?.context_tokens;
    let window = model.context_tokens.or_else(card).filter(|_| !model.compacts)?;
    (window > 0).then(|| room_in(window))
}

fn room_in(window: u64) -> u64 {
    (window - window / 4).max(1)
}
