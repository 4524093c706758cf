//! Cohere's `/v2/chat`.
//!
//! The provider is `Cohere` (feature `http`): `Cohere::from_env` reads `COHERE_API_KEY`,
//! `COHERE_BASE_URL` and `COHERE_MODEL`; `Cohere::builder` takes them as arguments. Without HTTP,
//! [`CohereDecoder`] reads response bodies.

#[cfg(feature = "http")]
mod request;
mod stream;
mod wire;

#[cfg(feature = "http")]
pub use request::{ChatV2, Cohere};
pub use stream::CohereDecoder;
use wire::PROTOCOL;
