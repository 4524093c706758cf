//! The parts of an agent.

use std::sync::{Arc, OnceLock};

use super::{
    AgentConfig, Approver, Observer, prompts::SystemPrompt, run::SharedState, state::Grant,
    tools::ToolRegistry,
};
use crate::llm::{ModelCard, Provider, Request, ToolSpec};

/// The parts that an agent was built from; its forks share them.
pub(super) struct Parts {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) prompts: Vec<Arc<dyn SystemPrompt>>,
    pub(super) tools: ToolRegistry,
    /// The descriptions of the tools, which the registry shares.
    pub(super) specs: Arc<[ToolSpec]>,
    pub(super) state: SharedState,
    pub(super) request: Request,
    pub(super) approver: Option<Arc<dyn Approver>>,
    /// The permissions from the start.
    pub(super) grants: Vec<Grant>,
    /// Those who watch the runs.
    pub(super) observers: Arc<[Arc<dyn Observer>]>,
    pub(super) config: AgentConfig,
    /// The catalog's entry of the model, once it was looked up.
    pub(super) card: OnceLock<Option<&'static ModelCard>>,
}

impl Parts {
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
