//! Gemini.

mod list;
#[cfg(feature = "gemini")]
mod message;
mod part;
#[cfg(feature = "gemini")]
mod provider;
mod sources;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(feature = "gemini")]
pub use provider::{Gemini, GenerateContent};
pub use stream::GeminiDecoder;

/// The protocol's name in items.
const PROTOCOL: &str = "gemini";
