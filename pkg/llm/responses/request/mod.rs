//! Requests in the format of Responses.

mod approvals;
mod message;
mod provider;
#[cfg(test)]
mod tests;
mod tool_search;

pub use provider::{OpenAiResponses, Responses};
