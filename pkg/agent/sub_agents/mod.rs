//! Agents that are tools of other agents.

mod above;
mod background;
mod event;
mod places;
mod purse;
mod recent;
mod report;
mod result_tool;
mod tool;
mod work;

pub(super) use self::{
    above::Above,
    places::Family,
    purse::{Draw, Purse},
};
pub use self::{
    event::{SUB_AGENT, SubAgentEvent},
    places::Places,
    tool::SubAgent,
};
