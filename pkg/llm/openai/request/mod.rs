//! Requests in the format of Chat Completions.

mod host;
mod message;
mod provider;

pub use provider::{ChatCompletions, OpenAi};
