//! The file that names servers: its members, and what they mean.

pub(crate) mod comments;
pub(crate) mod config_error;
pub(crate) mod config_member;
pub(crate) mod expand;
pub(crate) mod mcp_config;
pub(crate) mod mcp_server;
pub(crate) mod remote_members;
pub(crate) mod remote_settings;
pub(crate) mod server_members;
