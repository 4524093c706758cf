//! OpenAI Chat Completions and its dialects.

mod calls;
#[cfg(feature = "openai")]
mod config;
mod error;
#[cfg(feature = "openai")]
mod message;
mod names;
#[cfg(feature = "openai")]
mod provider;
#[cfg(feature = "openai")]
mod request;
#[cfg(feature = "openai")]
mod secrets;
#[cfg(feature = "openai")]
mod status;
mod stream;
mod surrogates;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(feature = "openai")]
pub use config::{OpenAiBuilder, OpenAiConfig};
#[cfg(feature = "openai")]
pub use provider::OpenAi;
pub use stream::OpenAiDecoder;
