//! Servers reached over HTTP, and logins to them.

mod address;
mod client;
mod connect;
mod errors;
mod idle;
mod login;
mod logins;
mod loopback;
mod names;
mod oauth;
mod read;
mod settings;
#[cfg(test)]
mod tests;
mod tokens;
mod watch;

pub(super) use connect::{Connection, connect};
pub(super) use errors::{greeting_error, session_error};
pub(super) use login::Login;
pub use logins::{McpLogin, McpLoginError, McpLogins};
pub use loopback::LoopbackLogins;
pub(super) use read::remote;
pub use settings::{McpOAuth, McpRemote};
pub use tokens::{FileTokens, MemoryTokens, TokenLock, TokenStore};
pub(super) use watch::Watch;
