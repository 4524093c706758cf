//! OpenAI Chat Completions and its dialects.

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
pub use stream::OpenAiDecoder;

/// The protocol's name in items.
const PROTOCOL: &str = "openai-chat";
