//! Requests in the format of Chat Completions.

mod host;
mod message;
mod pictures;
mod provider;
mod reasoning_rules;

pub use provider::{ChatCompletions, OpenAi};
