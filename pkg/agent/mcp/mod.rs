//! Tools of MCP servers: child processes of this process, and servers reached over HTTP.
//!
//! [`McpConfig`] reads the same file as other clients; [`McpServers`] starts its servers, and is a [`ToolSource`](super::ToolSource).

mod bounds;
mod call;
mod client;
mod comments;
mod config;
mod contexts;
mod elicitation;
mod error;
mod expand;
mod found;
mod handler;
mod last_words;
mod lines;
mod list;
mod member;
mod members;
mod open_calls;
mod options;
mod over_http;
mod pause;
mod process;
mod reading;
mod remote;
mod respondent;
mod result;
mod sampling;
mod server;
mod servers;
mod session;
mod slot;
mod starting;
#[cfg(test)]
mod tests;
mod tool;
mod waiting;

pub use config::McpConfig;
pub use contexts::McpResourcePrompt;
pub use error::{McpConfigError, McpError};
pub use found::{McpPrompt, McpPromptArgument, McpResource};
pub use options::McpOptions;
pub use remote::{
    FileTokens, LoopbackLogins, McpLogin, McpLoginError, McpLogins, McpOAuth, McpRemote,
    MemoryTokens, TokenLock, TokenStore,
};
pub use respondent::{McpQuestion, Respondent};
pub use server::McpServer;
pub use servers::McpServers;
