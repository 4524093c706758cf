//! OpenAI Chat Completions, as spoken by OpenAI and compatible servers.
//!
//! The provider is `OpenAi` (feature `openai`): `OpenAi::from_env` reads `OPENAI_API_KEY`,
//! `OPENAI_BASE_URL` and `OPENAI_MODEL`; `OpenAi::builder` takes them as arguments. Without HTTP,
//! [`OpenAiDecoder`] reads response bodies, and [`ChunkWriter`] writes them for the clients of a
//! server.

mod calls;
mod chunk_writer;
mod content;
mod extras;
#[cfg(feature = "openai")]
mod host;
#[cfg(feature = "openai")]
mod message;
#[cfg(feature = "openai")]
mod provider;
mod reasoning;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub use chunk_writer::ChunkWriter;
#[cfg(feature = "openai")]
pub use provider::{ChatCompletions, OpenAi};
pub use stream::{OpenAiDecoder, PROMPT_PROGRESS};

/// The protocol's name in items.
const PROTOCOL: &str = "openai-chat";
