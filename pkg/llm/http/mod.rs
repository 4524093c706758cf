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
mod fitted_tools;
mod health;
mod history;
pub(crate) mod http_error;
pub(super) mod instructions;
mod origins;
mod provider;
pub(crate) mod redact;
mod secret;
#[cfg(test)]
mod several_choices;
#[cfg(test)]
mod tests;
pub(super) mod tool_names;
pub(super) mod url;
mod validate;
mod window;
mod wire;

pub use auth::{Authorize, CallScope};
pub use body::BodyWriter;
pub use builder::HttpBuilder;
pub use config::HttpConfig;
#[cfg(test)]
pub(super) use encoded::EncodedCache;
pub(super) use encoded::{found_tool, joins_results, run_start};
pub(super) use fields::JsonFields;
pub use fields::{JsonItems, SamplingNames};
pub use provider::HttpProvider;
pub use secret::Secret;
pub(crate) use wire::asks_for_one;
pub use wire::{EnvNames, WireFormat};
