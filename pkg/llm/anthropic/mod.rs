//! Anthropic Messages.

mod stream;

pub use stream::AnthropicDecoder;
