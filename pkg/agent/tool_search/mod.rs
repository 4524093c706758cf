//! Tools that the model finds when it needs them, in place of descriptions of all in each request.

mod config;
mod index;
mod loaded;
mod words;

pub use self::config::ToolSearch;
pub(super) use self::{index::ToolIndex, loaded::Loaded};
