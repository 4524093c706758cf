//! Ollama's own protocols, chat and generate.
//!
//! The provider is `Ollama` (feature `ollama`), which uses `/api/chat`: `Ollama::from_env` reads
//! `OLLAMA_HOST`, `OLLAMA_MODEL` and, for a server that requires one, `OLLAMA_API_KEY`;
//! `Ollama::builder` takes them as arguments. Without HTTP, [`OllamaDecoder`] reads response bodies of
//! both protocols.

#[cfg(feature = "ollama")]
mod message;
#[cfg(feature = "ollama")]
mod provider;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(feature = "ollama")]
pub use provider::{Ollama, OllamaChat};
pub use stream::OllamaDecoder;

/// The protocol's name in items.
const PROTOCOL: &str = "ollama";
