//! The tool with which a model finds other tools.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ToolError, unit_tool::unit_tool};

/// The name of the tool; no other may have it.
pub(crate) const TOOL_SEARCH: &str = "tool_search";

/// The name of the tool through which found tools are called; no other may have it. The tool is not
/// in a registry: its calls become calls of the tools that they name.
pub(crate) const CALL_FOUND_TOOL: &str = "call_found_tool";

/// The arguments of a search.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ToolSearchArguments {
    /// A few words about what to do, or the name of a tool.
    pub(crate) query: String,
}

/// Finds tools that are not listed. Its calls are run by the agent itself, which knows who calls, and how tools are
/// described to its model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolSearchTool;

unit_tool!(
    ToolSearchTool,
    TOOL_SEARCH,
    "Finds tools that are not listed here. There are many more than you see: search before you say \
     that something cannot be done. Tools that were found can be called from then on.",
    false,
    |searched: ToolSearchArguments| Err(ToolError::failed(format!(
        "there are no tools to search for `{}` in",
        searched.query
    )))
);
