//! Removal of secrets: from errors, where a mark takes their place, and from recordings, byte for
//! byte, so that sizes stay true.

#[cfg(feature = "record")]
mod pieces;
#[cfg(feature = "record")]
mod recording;
mod redactor;
mod spelling;

pub(crate) use redactor::Redactor;
