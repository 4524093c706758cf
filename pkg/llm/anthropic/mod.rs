//! Anthropic Messages.

mod answer;
#[cfg(feature = "anthropic")]
mod base64;
mod blocks;
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
