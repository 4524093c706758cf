//! Anthropic Messages, as spoken by Anthropic and compatible servers.
//!
//! The provider is `Anthropic` (feature `anthropic`): `Anthropic::from_env` reads
//! `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` and `ANTHROPIC_MODEL`; `Anthropic::builder` takes them
//! as arguments. Signatures of reasoning are sent back unchanged. Without HTTP, [`AnthropicDecoder`] reads
//! response bodies.

mod answer;
mod blocks;
#[cfg(feature = "anthropic")]
mod found;
mod items;
#[cfg(feature = "anthropic")]
mod message;
#[cfg(feature = "anthropic")]
mod provider;
#[cfg(feature = "anthropic")]
mod reasoning;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(feature = "anthropic")]
pub use provider::{Anthropic, Messages};
pub use stream::AnthropicDecoder;
