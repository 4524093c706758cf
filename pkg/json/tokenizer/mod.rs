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

pub(crate) use machine::Tokenizer;
pub(crate) use token::{Kind, Strictness, Token};
