//! Ollama's own protocols, chat and generate.

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
