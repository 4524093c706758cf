//! Requests in the format of Messages.

mod found;
mod message;
mod provider;
mod reasoning;

pub use provider::{Anthropic, Messages};
