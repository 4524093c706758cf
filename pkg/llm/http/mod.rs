//! Providers over HTTP: their configuration, requests and errors.
//!
//! A vendor is a [`WireFormat`]: the URLs of requests, their encoding and the decoding of responses.
//! Everything else is implemented here once: connections, keys, timeouts, retries, error statuses, health.

mod auth;
mod body;
mod builder;
pub mod chat;
mod check;
mod config;
mod encoded;
mod fields;
mod health;
pub(crate) mod http_error;
#[cfg(feature = "http")]
pub(super) mod instructions;
mod origins;
mod provider;
pub(crate) mod redact;
#[cfg(all(test, feature = "http"))]
mod tests;
pub(super) mod url;
mod validate;
mod wire;

pub use auth::Authorize;
pub use body::BodyWriter;
pub use builder::HttpBuilder;
pub use config::HttpConfig;
#[cfg(all(test, feature = "http"))]
pub(super) use encoded::EncodedCache;
#[cfg(feature = "http")]
pub(super) use encoded::found_tool;
#[cfg(feature = "http")]
pub(super) use encoded::joins_results;
#[cfg(feature = "http")]
pub(super) use encoded::run_start;
#[cfg(feature = "http")]
pub(super) use fields::JsonFields;
pub use fields::{JsonItems, SamplingNames};
pub use provider::HttpProvider;
pub use wire::{EnvNames, WireFormat};

pub use secrecy::SecretString;
