//! OpenAI Chat Completions, as spoken by OpenAI and compatible servers.
//!
//! The provider is `OpenAi` (feature `http`): `OpenAi::from_env` reads `OPENAI_API_KEY`,
//! `OPENAI_BASE_URL` and `OPENAI_MODEL`; `OpenAi::builder` takes them as arguments. Without HTTP,
//! [`OpenAiDecoder`] reads response bodies. For a server whose clients speak this protocol, [`read_request`] reads their
//! requests, and [`ChunkWriter`] writes the responses, streamed or whole.

mod calls;
mod chunk_writer;
mod content;
mod extras;
mod reasoning;
mod received;
#[cfg(feature = "http")]
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub use chunk_writer::ChunkWriter;
pub(crate) use chunk_writer::failure;
use extras::PROTOCOL;
pub use received::read_request;
#[cfg(feature = "http")]
pub use request::{ChatCompletions, OpenAi};
pub use stream::{OpenAiDecoder, PROMPT_PROGRESS};
