//! The parts of an agent.

use std::sync::Arc;

use super::{
    AgentConfig,
    prompts::SystemPrompt,
    tools::{SharedState, ToolRegistry},
};
use crate::llm::{Provider, Request, ToolSpec};

/// The parts that an agent was built from; its forks share them.
pub(super) struct Parts {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) prompts: Vec<Arc<dyn SystemPrompt>>,
    pub(super) tools: ToolRegistry,
    /// The descriptions of the tools, which the registry shares.
    pub(super) specs: Arc<[ToolSpec]>,
    pub(super) state: SharedState,
    pub(super) request: Request,
    pub(super) config: AgentConfig,
}
