//! Agents that are tools of others.

mod above;
mod event;
mod places;
mod purse;
mod recent;
mod tool;

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
