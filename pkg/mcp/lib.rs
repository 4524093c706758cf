//! Tools of MCP servers: child processes of this process, and servers reached over HTTP.
//!
//! [`McpConfig`] reads the same file as other clients; [`McpServers`] starts its servers, and is a [`ToolSource`](forgeline_agent::tools::ToolSource).

mod addresses;
mod config;
mod http;
mod login;
mod oauth;
mod output;
mod requests;
mod servers;
mod session;
#[cfg(test)]
mod tests;

pub use self::{
    config::{
        config_error::McpConfigError,
        mcp_config::McpConfig,
        mcp_server::McpServer,
        remote_settings::{McpOAuth, McpRemote},
    },
    login::{
        file_tokens::FileTokens,
        loopback_logins::LoopbackLogins,
        mcp_logins::{McpLogin, McpLoginError, McpLogins},
        memory_tokens::MemoryTokens,
        token_store::{TokenLock, TokenStore},
    },
    requests::{
        mcp_options::McpOptions,
        respondent::{McpQuestion, Respondent},
    },
    servers::{
        contexts::McpResourcePrompt,
        instructions::McpInstructions,
        listed_contexts::{McpPrompt, McpPromptArgument, McpResource},
        mcp_servers::McpServers,
    },
    session::mcp_error::McpError,
};
