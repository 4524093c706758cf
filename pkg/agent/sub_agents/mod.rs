//! Agents that are tools of others.

mod above;
mod event;
mod places;
mod tool;

pub(super) use self::{above::Above, places::Family};
pub use self::{
    event::{SUB_AGENT, SubAgentEvent},
    places::Places,
    tool::SubAgent,
};
