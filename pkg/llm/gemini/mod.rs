//! Gemini.

mod part;
mod sources;
mod stream;
mod wire;

pub use stream::GeminiDecoder;

/// The protocol's name in items.
const PROTOCOL: &str = "gemini";
