//! OpenAI Responses, as spoken by OpenAI, xAI, OpenRouter and llama.cpp.
//!
//! The provider is `OpenAiResponses` (feature `http`): `OpenAiResponses::from_env` reads
//! `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`; `OpenAiResponses::builder` takes them
//! as arguments. Encrypted reasoning is sent back unchanged. Without HTTP, [`ResponsesDecoder`] reads
//! response bodies. For a server whose clients speak this protocol, [`read_request`] reads their requests, and [`ResponseWriter`] writes
//! the responses, streamed or whole.

mod extras;
mod items;
mod offered;
mod output;
mod received;
#[cfg(feature = "http")]
mod request;
mod response_writer;
mod stream;
#[cfg(test)]
mod tests;
mod wire;
mod written;

pub use received::{read_request, read_stored_request};
#[cfg(feature = "http")]
pub use request::{OpenAiResponses, Responses};
pub use response_writer::ResponseWriter;
pub use stream::ResponsesDecoder;
use wire::PROTOCOL;
