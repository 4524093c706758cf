//! Anthropic Messages, as spoken by Anthropic and compatible servers.
//!
//! The provider is `Anthropic` (feature `http`): `Anthropic::from_env` reads
//! `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` and `ANTHROPIC_MODEL`; `Anthropic::builder` takes them
//! as arguments. Signatures of reasoning are sent back unchanged. Without HTTP, [`AnthropicDecoder`] reads
//! response bodies.

mod answer;
mod blocks;
mod items;
#[cfg(feature = "http")]
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(feature = "http")]
pub use request::{Anthropic, Messages};
pub use stream::AnthropicDecoder;
