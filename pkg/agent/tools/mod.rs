//! Tools: the actions that an agent can perform.

mod calculator;
mod check;
mod client_tool;
#[cfg(feature = "command")]
mod command;
mod context;
mod error;
mod facts;
#[cfg(feature = "files")]
mod files;
pub(in crate::agent) mod form;
mod loop_breaking;
mod output;
#[cfg(any(feature = "command", feature = "mcp"))]
pub(crate) mod process_group;
mod question;
mod registry;
mod returned;
mod tool;
mod tool_search;
mod typed;
mod unit_tool;
mod validate;

pub use calculator::Calculator;
pub(in crate::agent) use check::ArgumentCheck;
pub use client_tool::ClientTool;
#[cfg(feature = "command")]
pub use command::{CommandTool, CommandToolError};
pub use context::ToolContext;
pub(crate) use context::{CallPlace, People};
pub use error::{RegistryError, ToolError};
pub use facts::{PreviewFuture, ToolEffects, ToolPlace};
#[cfg(feature = "files")]
pub use files::FileTools;
#[cfg(feature = "files")]
#[cfg(feature = "skills")]
pub(in crate::agent) use files::blocking;
#[cfg(feature = "files")]
pub(in crate::agent) use files::root as files_root;
pub(crate) use loop_breaking::{ASK_QUESTION, Asked, CONVERSE, TASK_COMPLETION};
pub use loop_breaking::{AskQuestionTool, ConverseTool, TaskCompletionTool};
pub use output::ToolOutput;
pub use question::Question;
pub(in crate::agent) use registry::Registered;
pub use registry::ToolRegistry;
pub use returned::{IntoToolResult, kind};
pub use tool::{Tool, ToolFuture};
pub(crate) use tool_search::{CALL_FOUND_TOOL, Searched, TOOL_SEARCH, ToolSearchTool};
pub(in crate::agent) use typed::read as read_arguments;
pub use typed::{TypedTool, tool_fn};
pub use validate::validate;
