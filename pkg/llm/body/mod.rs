//! The driver of a response body, which reads it within the time limits.

mod chunks;
mod deadline;
#[cfg(test)]
mod tests;

pub use chunks::BodyChunks;
pub(crate) use deadline::BodyDeadline;
