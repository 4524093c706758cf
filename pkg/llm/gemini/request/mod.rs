//! Requests in the format of `streamGenerateContent`.

mod message;
mod provider;

pub use provider::{Gemini, GenerateContent};
