//! OpenAI Responses, as spoken by OpenAI, xAI, OpenRouter and llama.cpp.
//!
//! The provider is `OpenAiResponses` (feature `http`): `OpenAiResponses::from_env` reads
//! `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`; `OpenAiResponses::builder` takes them
//! as arguments. Encrypted reasoning is sent back unchanged. Without HTTP, [`ResponsesDecoder`] reads
//! response bodies.

mod extras;
mod items;
mod offered;
mod output;
#[cfg(feature = "http")]
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(feature = "http")]
pub use request::{OpenAiResponses, Responses};
pub use stream::ResponsesDecoder;
use wire::PROTOCOL;
