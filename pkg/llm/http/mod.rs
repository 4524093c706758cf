//! What every provider over HTTP shares: its setup, its requests, its errors.
//!
//! A vendor is a [`WireFormat`]: where requests go, how they are written and how answers are read.
//! Everything else is here, once: connections, keys, timeouts, retries, error statuses, health.

mod auth;
pub(in crate::llm) mod body;
mod builder;
mod capabilities;
mod config;
mod provider;
mod secrets;
mod url;
mod wire;

pub use auth::Authorize;
pub use builder::HttpBuilder;
pub use config::HttpConfig;
pub use provider::HttpProvider;
pub use url::endpoint;
pub use wire::{EnvNames, WireFormat};
