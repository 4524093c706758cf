//! OpenAI Responses, as spoken by OpenAI, xAI, OpenRouter and llama.cpp.
//!
//! The provider is `OpenAiResponses` (feature `responses`): `OpenAiResponses::from_env` reads
//! `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`; `OpenAiResponses::builder` takes them
//! as arguments. Encrypted reasoning is sent back unchanged. Without HTTP, [`ResponsesDecoder`] reads
//! response bodies.

#[cfg(feature = "responses")]
mod approvals;
mod extras;
#[cfg(feature = "responses")]
mod found;
mod items;
#[cfg(feature = "responses")]
mod message;
mod offered;
mod output;
#[cfg(feature = "responses")]
mod provider;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(feature = "responses")]
pub use provider::{OpenAiResponses, Responses};
pub use stream::ResponsesDecoder;

/// The protocol's name in items.
const PROTOCOL: &str = "openai-responses";
