//! Ollama's own protocols, chat and generate.

mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub use stream::OllamaDecoder;
