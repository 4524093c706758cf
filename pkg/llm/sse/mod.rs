//! Server-Sent Events.

mod decoder;
mod error;
mod event;
mod limits;
#[cfg(test)]
mod tests;

pub use decoder::SseDecoder;
pub(crate) use decoder::lossy;
pub use error::DecodeError;
pub use event::SseEvent;
pub use limits::SseLimits;
