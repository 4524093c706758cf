//! Tools that the model finds when it needs them, instead of descriptions of all tools in each request.

mod config;
mod index;
mod indirect;
mod loaded;
mod unwrapping;
mod words;

pub use self::config::{FoundTools, ToolSearch};
pub(super) use self::{
    index::ToolIndex,
    indirect::{as_made, unwrap_call},
    loaded::Loaded,
    unwrapping::Unwrapping,
};
