//! Tools: the actions that an agent can perform.

mod calculator;
mod check;
mod client_tool;
#[cfg(feature = "local-tools")]
mod command;
mod contract;
#[cfg(feature = "local-tools")]
mod files;
pub(crate) mod form;
mod loop_breaking;
#[cfg(feature = "process")]
pub(crate) mod process_group;
mod registry;
mod returned;
mod tool_search;
mod tool_source;
mod typed;
mod unit_tool;

pub use calculator::Calculator;
pub use check::validate;
pub(crate) use check::{ArgumentCheck, fitted};
pub use client_tool::ClientTool;
#[cfg(feature = "local-tools")]
pub use command::{CommandTool, CommandToolError};
pub(crate) use contract::data_length;
pub use contract::{CallPeople, CallPlace, RunView};
pub use contract::{
    PreviewFuture, Question, RegistryError, Tool, ToolContext, ToolEffects, ToolError, ToolFuture,
    ToolOutput, ToolPlace,
};
#[cfg(feature = "local-tools")]
pub use files::FileTools;
#[cfg(feature = "local-tools")]
pub use files::blocking;
#[cfg(feature = "local-tools")]
pub(crate) use files::{WithheldFiles, root as files_root};
pub(crate) use loop_breaking::{ASK_QUESTION, CONVERSE, QuestionArguments, TASK_COMPLETION};
pub use loop_breaking::{AskQuestionTool, ConverseTool, TaskCompletionTool};
pub(crate) use registry::RegisteredTool;
pub use registry::ToolRegistry;
pub use returned::{IntoToolResult, kind};
pub(crate) use tool_search::{CALL_FOUND_TOOL, TOOL_SEARCH, ToolSearchArguments, ToolSearchTool};
pub use tool_source::ToolSource;
pub use typed::read_arguments;
pub use typed::{State, TypedTool, tool_fn, tool_with};
