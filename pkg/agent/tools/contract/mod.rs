//! The contract of a tool: its calls, its context, and its results.

mod context;
mod error;
mod facts;
mod output;
mod question;
mod tool;

pub use self::context::{CallPeople, CallPlace, RunView};
pub(crate) use self::output::data_length;
pub use self::{
    context::ToolContext,
    error::{RegistryError, ToolError},
    facts::{PreviewFuture, ToolEffects, ToolPlace},
    output::ToolOutput,
    question::Question,
    tool::{Tool, ToolFuture},
};
