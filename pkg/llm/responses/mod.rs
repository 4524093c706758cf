//! OpenAI Responses.

mod extras;
mod items;
#[cfg(feature = "responses")]
mod message;
mod output;
mod place;
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
