//! Cohere, version 2.

mod stream;

pub use stream::CohereDecoder;
