//! Agents that are tools of other agents.

mod recent;
mod report;
mod result_tool;
mod tool;
mod work;

pub use self::tool::SubAgent;
pub use crate::nesting::Places;
