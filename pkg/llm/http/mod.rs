//! What every provider over HTTP shares: its setup, its requests, its errors.
//!
//! A vendor is a [`WireFormat`]: where requests go, how they are written and how answers are read.
//! Everything else is here, once: connections, keys, timeouts, retries, error statuses, health.

mod auth;
mod body;
mod builder;
mod capabilities;
mod config;
mod provider;
pub(crate) mod redact;
mod url;
mod wire;

pub use auth::Authorize;
pub use body::{Encoded, Fields, run_start, write_json};
#[cfg(any(feature = "anthropic", feature = "gemini"))]
pub(super) use body::{Instructions, instructions, to_bytes};
pub use builder::HttpBuilder;
pub use config::HttpConfig;
pub use provider::HttpProvider;
pub use url::endpoint;
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "cohere"))]
pub(super) use url::with_query;
pub use wire::{EnvNames, WireFormat};

pub use super::tool_names::{decode as decode_tool_name, encode as encode_tool_name};
