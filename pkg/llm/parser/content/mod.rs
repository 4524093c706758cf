//! The pieces that the parsers emit.

pub(crate) mod mentions;
pub(crate) mod parsed;
pub(crate) mod token;
