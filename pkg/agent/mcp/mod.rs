//! Tools of MCP servers: child processes of this one, and servers that are reached over HTTP.
//!
//! [`McpConfig`] reads the file that other clients read too, [`McpServers`] starts its servers, and is a
//! [`ToolSource`](super::ToolSource).

mod config;
mod error;
mod expand;
mod lines;
mod member;
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
pub use remote::{
    Authorize, FileTokens, LoopbackLogin, McpLogin, McpLoginError, McpOAuth, McpRemote,
    MemoryTokens, TokenStore,
};
pub use servers::McpServers;
