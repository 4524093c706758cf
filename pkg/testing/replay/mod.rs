//! Replay of recorded answers through the real decoders.
//!
//! [`ReplayProvider`] is a provider that answers with given bodies or a [`Recording`](super::record::Recording).
//! [`ReplayTransport`] is a transport below a real provider: its requests are compared with the
//! recorded ones, so that an outdated recording is detected.

mod compare;
mod provider;
mod said;
mod source;
#[cfg(test)]
mod tests;
mod transport;

pub use provider::ReplayProvider;
pub use source::{ChunkSizes, Pace};
pub use transport::ReplayTransport;
