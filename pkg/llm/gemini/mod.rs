//! Gemini.

mod stream;

pub use stream::GeminiDecoder;
