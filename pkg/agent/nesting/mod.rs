//! Agents nested in calls of other agents: their places, their parts of the budget, and their inherited context.

mod background_agents;
mod budget_pool;
mod parent_context;
mod places;
mod task_nesting;

pub(crate) use self::{
    background_agents::SubAgentResult,
    places::ParentWait,
    task_nesting::{
        above, as_child, carried, check, depth, family, own_family, with_draw, within, within_call,
    },
};
pub use self::{budget_pool::BudgetDraw, places::Places, task_nesting::current_draw};
pub(crate) use self::{
    budget_pool::BudgetPool, parent_context::ParentContext, places::AgentFamily,
};
