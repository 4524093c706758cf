//! Gemini's `streamGenerateContent`.
//!
//! The provider is `Gemini` (feature `http`): `Gemini::from_env` reads `GEMINI_API_KEY`,
//! `GEMINI_BASE_URL` and `GEMINI_MODEL`; `Gemini::builder` takes them as arguments. Signatures are sent back
//! on the parts that they came with. Without HTTP, [`GeminiDecoder`] reads response bodies.

mod part;
mod partial_args;
#[cfg(feature = "http")]
mod request;
mod sources;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(feature = "http")]
pub use request::{Gemini, GenerateContent};
pub use stream::GeminiDecoder;
use wire::PROTOCOL;
