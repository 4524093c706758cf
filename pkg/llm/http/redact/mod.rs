//! Removal of secrets: from errors, where a placeholder takes their place, and from recordings, byte for
//! byte, so that lengths do not change.

#[cfg(feature = "record")]
mod pieces;
#[cfg(feature = "record")]
mod recording;
mod redactor;
mod spelling;

pub(crate) use redactor::Redactor;
