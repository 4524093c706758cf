//! Anthropic Messages, as spoken by Anthropic and compatible servers.
//!
//! The provider is `Anthropic` (feature `http`): `Anthropic::from_env` reads
//! `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` and `ANTHROPIC_MODEL`; `Anthropic::builder` takes them
//! as arguments. Signatures of reasoning are sent back unchanged. Without HTTP, [`AnthropicDecoder`] reads
//! response bodies. For a server whose clients speak this protocol, [`read_request`] reads their requests, and [`MessageWriter`] writes
//! the responses, streamed or whole.

mod answer;
mod blocks;
mod items;
mod message_writer;
mod received;
#[cfg(feature = "http")]
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub use message_writer::MessageWriter;
pub use received::read_request;
#[cfg(feature = "http")]
pub use request::{Anthropic, Messages};
pub use stream::AnthropicDecoder;
