//! Servers that are reached over HTTP, and logins to them.

mod address;
mod authorize;
mod client;
mod connect;
mod loopback;
mod oauth;
mod read;
mod settings;
#[cfg(test)]
mod tests;
mod tokens;
mod watch;

pub use authorize::{Authorize, McpLogin, McpLoginError};
pub(super) use connect::connect;
pub use loopback::LoopbackLogin;
pub(super) use read::remote;
pub use settings::{McpOAuth, McpRemote};
pub use tokens::{FileTokens, MemoryTokens, TokenStore};
pub(super) use watch::Watch;
