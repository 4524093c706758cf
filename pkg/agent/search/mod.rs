//! Tools that the model finds when it needs them, instead of descriptions of all tools in each request.

mod call_unwrapper;
mod config;
mod index;
mod indirect;
mod loaded_tools;
mod words;

pub use self::config::{FoundTools, ToolSearch};
pub(super) use self::{
    call_unwrapper::CallUnwrapper,
    index::ToolIndex,
    indirect::{as_made, unwrap_call},
    loaded_tools::LoadedTools,
};
