//! Agents that are tools of other agents.

mod event;
mod recent;
mod report;
mod result_tool;
mod tool;
mod work;

pub use self::{
    event::{SUB_AGENT, SubAgentEvent},
    tool::SubAgent,
};
