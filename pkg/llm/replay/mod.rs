//! Recorded answers through the real decode path.
//!
//! [`ReplayProvider`] is a provider: bodies or a whole [`Recording`](super::record::Recording) become
//! answers. [`ReplayTransport`] is a transport below a real provider: what that one would send is
//! compared with what was sent, so a recording that no longer fits is noticed.

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
