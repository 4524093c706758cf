//! Removal of secrets: from errors, where a placeholder takes their place, and from recordings, byte for
//! byte, so that lengths do not change.

mod pieces;
mod recording;
mod redactor;
mod spelling;

pub use redactor::SecretRedactor;
