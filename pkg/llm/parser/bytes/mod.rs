//! Sets of bytes, and the whitespace before a section.

pub(crate) mod byteset;
#[cfg(test)]
pub(crate) mod dice;
pub(crate) mod whitespace;
