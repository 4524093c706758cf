//! Secrets in a text, recognized by their form or by the name to which they are assigned.

mod assignments;
mod keys;
mod redaction;

#[cfg(feature = "http")]
pub(crate) use assignments::assigned_secrets;
#[cfg(feature = "http")]
pub(crate) use keys::look_alikes;
pub use redaction::remove_secrets;
#[cfg(feature = "http")]
pub(crate) use redaction::replaced;
pub use redaction::without_secrets;
