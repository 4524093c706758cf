//! Recorded answers through the real decode path.

mod provider;
mod source;

pub use provider::ReplayProvider;
pub use source::ChunkSizes;
