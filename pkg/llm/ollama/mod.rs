//! Ollama's own protocols, chat and generate.
//!
//! The provider is `Ollama` (feature `http`), which uses `/api/chat`: `Ollama::from_env` reads
//! `OLLAMA_HOST`, `OLLAMA_MODEL` and, for a server that requires one, `OLLAMA_API_KEY`;
//! `Ollama::builder` takes them as arguments. Without HTTP, [`OllamaDecoder`] reads response bodies of
//! both protocols.

#[cfg(feature = "http")]
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(feature = "http")]
pub use request::{Ollama, OllamaChat};
pub use stream::OllamaDecoder;
use wire::PROTOCOL;
