//! The protocols by name, and the decoder of each.

mod decoders;
mod protocol;
#[cfg(test)]
pub(crate) mod tests;

pub use protocol::{Protocol, UnknownProtocol};
