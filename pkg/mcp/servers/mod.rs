//! The servers of a configuration as a source of tools, prompts and resources.

pub(crate) mod contexts;
pub(crate) mod instructions;
pub(crate) mod list_bounds;
pub(crate) mod list_session;
pub(crate) mod listed_contexts;
pub(crate) mod mcp_servers;
pub(crate) mod mcp_tool;
pub(crate) mod offered_names;
pub(crate) mod retry_pause;
pub(crate) mod server_slot;
pub(crate) mod session_start;
pub(crate) mod tool_output;
