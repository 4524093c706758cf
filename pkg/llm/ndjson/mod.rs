//! JSON values, one per line.

mod decoder;
#[cfg(test)]
mod tests;

pub use decoder::NdjsonDecoder;
