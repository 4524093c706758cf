//! OpenAI Chat Completions, as spoken by OpenAI and compatible servers.
//!
//! The provider is `OpenAi` (feature `http`): `OpenAi::from_env` reads `OPENAI_API_KEY`,
//! `OPENAI_BASE_URL` and `OPENAI_MODEL`; `OpenAi::builder` takes them as arguments. Without HTTP,
//! [`OpenAiDecoder`] reads response bodies, and [`ChunkWriter`] writes them for the clients of a
//! server.

mod calls;
mod chunk_writer;
mod content;
mod extras;
mod reasoning;
#[cfg(feature = "http")]
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub use chunk_writer::ChunkWriter;
use extras::PROTOCOL;
#[cfg(feature = "http")]
pub use request::{ChatCompletions, OpenAi};
pub use stream::{OpenAiDecoder, PROMPT_PROGRESS};
