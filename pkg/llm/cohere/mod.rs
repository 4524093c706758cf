//! Cohere's `/v2/chat`.
//!
//! The provider is `Cohere` (feature `cohere`): `Cohere::from_env` reads `COHERE_API_KEY`,
//! `COHERE_BASE_URL` and `COHERE_MODEL`; `Cohere::builder` takes them as arguments. Without HTTP,
//! [`CohereDecoder`] reads response bodies.

#[cfg(feature = "cohere")]
mod message;
#[cfg(feature = "cohere")]
mod provider;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(feature = "cohere")]
pub use provider::{ChatV2, Cohere};
pub use stream::CohereDecoder;

/// The protocol's name in items.
const PROTOCOL: &str = "cohere";
