//! Anthropic Messages.

mod blocks;
mod items;
mod members;
mod stream;
mod wire;

pub use stream::AnthropicDecoder;
