//! The part of a run that its sub-agents inherit.

use std::sync::Arc;

use super::budget_pool::BudgetDraw;
use crate::{
    access::HostAudit,
    memory::SharedMemory,
    run::OutsideSources,
    steering::{CallAbove, Steering},
};

/// The part of a run that its sub-agents inherit.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParentContext {
    /// The handle through which requests of the run are answered.
    pub(crate) steering: Option<Steering>,
    /// The sources of the text from outside in the conversation.
    pub(crate) outside: OutsideSources,
    /// The conversation of the run.
    pub(crate) memory: Option<Arc<SharedMemory>>,
    /// The access to what is left of the budget.
    pub(crate) draw: Option<BudgetDraw>,
    /// The call, for the waits of a sub-agent's run.
    pub(crate) call: Option<CallAbove>,
    /// The sink of the host for refused calls.
    pub(crate) audit: Option<HostAudit>,
}
