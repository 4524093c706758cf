//! Logins of people, and the stores of the resulting tokens.

pub(crate) mod file_tokens;
pub(crate) mod loopback_logins;
pub(crate) mod mcp_logins;
pub(crate) mod memory_tokens;
pub(crate) mod token_store;
