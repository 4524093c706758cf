//! Requests in the format of Ollama's chat.

mod message;
mod provider;

pub use provider::{Ollama, OllamaChat};
