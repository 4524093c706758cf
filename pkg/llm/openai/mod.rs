//! OpenAI Chat Completions and its dialects.

mod calls;
#[cfg(feature = "openai")]
mod message;
#[cfg(feature = "openai")]
mod provider;
#[cfg(feature = "openai")]
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(feature = "openai")]
pub use provider::{ChatCompletions, OpenAi};
pub use stream::OpenAiDecoder;
