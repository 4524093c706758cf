//! Ollama's own protocols, chat and generate.

mod stream;

pub use stream::OllamaDecoder;
