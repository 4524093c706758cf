//! A tokenizer for JSON in pieces of any size, which emits strict JSON.

mod machine;
mod piece;
mod scalar;
mod state;
mod string;
mod structure;
#[cfg(test)]
mod tests;
mod token;
mod tracker;

pub use machine::Tokenizer;
pub use token::{Kind, Strictness, Token};
pub use tracker::JsonTracker;
