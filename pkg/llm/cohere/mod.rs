//! Cohere, version 2.

mod stream;
mod wire;

pub use stream::CohereDecoder;

/// The protocol's name in items.
const PROTOCOL: &str = "cohere";
