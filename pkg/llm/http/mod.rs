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
#[cfg(any(feature = "anthropic", feature = "gemini"))]
pub(super) mod instructions;
mod origins;
mod provider;
pub(crate) mod redact;
#[cfg(all(test, feature = "openai"))]
mod tests;
pub(super) mod url;
mod validate;
mod wire;

pub use auth::Authorize;
pub use body::BodyWriter;
pub use builder::HttpBuilder;
pub use config::HttpConfig;
#[cfg(all(test, feature = "anthropic"))]
pub(super) use encoded::EncodedCache;
#[cfg(feature = "responses")]
pub(super) use encoded::found_tool;
#[cfg(any(feature = "anthropic", feature = "gemini"))]
pub(super) use encoded::joins_results;
#[cfg(feature = "anthropic")]
pub(super) use encoded::run_start;
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "ollama"))]
pub(super) use fields::Fields;
pub use fields::{JsonItems, SamplingNames};
pub use provider::HttpProvider;
pub use wire::{EnvNames, WireFormat};

pub use secrecy::SecretString;
