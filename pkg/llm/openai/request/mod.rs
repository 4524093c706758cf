//! Requests in the format of Chat Completions.

mod host;
mod message;
mod provider;
mod reasoning_rules;

pub use provider::{ChatCompletions, OpenAi};
