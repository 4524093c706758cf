//! Cohere, version 2.

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
