//! Tools that the model finds when it needs them, in place of descriptions of all in each request.

mod config;
mod loaded;
mod shelf;
mod words;

pub use self::config::ToolSearch;
pub(super) use self::{loaded::Loaded, shelf::Shelf};
