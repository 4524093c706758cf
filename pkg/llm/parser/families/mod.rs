//! The families of models known to the library, with one entry each.

mod family;
mod list;
mod newer;
mod others;
mod recent;
mod results;
mod shared;
#[cfg(test)]
pub(super) mod tests;
mod vendors;

pub(super) use family::FamilyModels;
pub(crate) use list::by_tools;
pub(super) use list::{
    THINKING_COUNT, TOOL_COUNT, all, auto_thinking, auto_tools, auto_turn_ends, strays, thinking,
    tools, turn_ends,
};
pub use results::ResultForm;
