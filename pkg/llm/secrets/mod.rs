//! Secrets in a text, recognized by their form or by the name to which they are assigned.

pub(crate) mod assignments;
pub(crate) mod keys;
pub(crate) mod redaction;

pub use redaction::{remove_secrets, without_secrets};
