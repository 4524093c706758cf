//! OpenAI Responses, as spoken by OpenAI, xAI, OpenRouter and llama.cpp.
//!
//! The provider is `OpenAiResponses` (feature `http`): `OpenAiResponses::from_env` reads
//! `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`; `OpenAiResponses::builder` takes them
//! as arguments. Encrypted reasoning is sent back unchanged. Without HTTP, [`ResponsesDecoder`] reads
//! response bodies.

#[cfg(feature = "http")]
mod approvals;
mod extras;
mod items;
#[cfg(feature = "http")]
mod message;
mod offered;
mod output;
#[cfg(feature = "http")]
mod provider;
mod stream;
#[cfg(test)]
mod tests;
#[cfg(feature = "http")]
mod tool_search;
mod wire;

#[cfg(feature = "http")]
pub use provider::{OpenAiResponses, Responses};
pub use stream::ResponsesDecoder;
use wire::PROTOCOL;
