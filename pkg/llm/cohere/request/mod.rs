//! Requests in the format of `/v2/chat`.

mod message;
mod provider;

pub use provider::{ChatV2, Cohere};
