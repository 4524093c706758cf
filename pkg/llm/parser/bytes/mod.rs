//! Sets of bytes, and small buffers of them.

pub(crate) mod byteset;
#[cfg(test)]
pub(crate) mod dice;
pub(crate) mod inline_buf;
pub(crate) mod whitespace;
