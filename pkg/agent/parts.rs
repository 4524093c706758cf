//! The parts of an agent.

use std::sync::{Arc, OnceLock};

use super::{
    AgentConfig, Approver, AuditSink, Authorizer, Observer, Permissions, ToolSource,
    prompts::SystemPrompt,
    run::SharedState,
    state::Grant,
    tools::{Tool, ToolRegistry},
};
use crate::llm::{ModelCard, Provider, Request, TokenEstimator, ToolSpec};

/// The parts that an agent was built from; its forks share them. A run to which tools are contributed has its own.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) prompts: Vec<Arc<dyn SystemPrompt>>,
    pub(super) tools: ToolRegistry,
    pub(super) sources: Vec<Arc<dyn ToolSource>>,
    /// The descriptions of the tools, which the registry shares.
    pub(super) specs: Arc<[ToolSpec]>,
    pub(super) state: SharedState,
    pub(super) request: Request,
    pub(super) estimator: TokenEstimator,
    /// The model that sums up conversations, where it is another.
    pub(super) summarizer: Option<Arc<dyn Provider>>,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) authorizer: Option<Arc<dyn Authorizer>>,
    /// The rules about callers; `None` for those by name.
    pub(super) permissions: Option<Arc<dyn Permissions>>,
    pub(super) audit: Option<Arc<dyn AuditSink>>,
    /// `true` when a run may be one that may not use all tools.
    pub(super) is_gated: bool,
    /// The permissions from the start.
    pub(super) grants: Vec<Grant>,
    /// Those who watch the runs.
    pub(super) observers: Arc<[Arc<dyn Observer>]>,
    pub(super) config: AgentConfig,
    /// The catalog's entry of the model, once it was looked up.
    pub(super) card: OnceLock<Option<&'static ModelCard>>,
}

impl Parts {
    /// Returns `true` when a run may be one that may not use all tools.
    pub(super) fn has_gates(&self) -> bool {
        let has_gate = |tool: &dyn Tool| tool.permission().is_some() || tool.surface().is_some();
        self.permissions.is_some() || self.tools.iter().any(|entry| has_gate(&**entry.tool))
    }

    /// Returns the catalog's entry of the model.
    pub(super) fn card(&self) -> Option<&'static ModelCard> {
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
