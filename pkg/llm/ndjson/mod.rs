//! JSON values, one a line.

mod decoder;
#[cfg(test)]
mod tests;

pub use decoder::NdjsonDecoder;
