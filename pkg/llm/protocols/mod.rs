//! The protocols by name, and the decoder of each.

mod decoders;
mod protocol;

pub use protocol::{Protocol, UnknownProtocol};
