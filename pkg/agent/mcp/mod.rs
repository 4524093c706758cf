//! Tools of MCP servers: child processes of this one, and servers that are reached over HTTP.
//!
//! [`McpConfig`] reads the file that other clients read too, [`McpServers`] starts its servers, and is a
//! [`ToolSource`](super::ToolSource).

mod client;
mod config;
mod elicitation;
mod error;
mod expand;
mod lines;
mod member;
mod open_calls;
mod options;
mod process;
mod remote;
mod result;
mod servers;
mod session;
#[cfg(test)]
mod tests;
mod tool;
mod waiting;

pub use config::{McpConfig, McpServer};
pub use error::{McpConfigError, McpError};
pub use options::{McpOptions, McpQuestion, Respondent};
pub use remote::{
    FileTokens, LoopbackLogins, McpLogin, McpLoginError, McpLogins, McpOAuth, McpRemote,
    MemoryTokens, TokenStore,
};
pub use servers::McpServers;
