//! Server-Sent Events.

mod error;

pub use error::DecodeError;
