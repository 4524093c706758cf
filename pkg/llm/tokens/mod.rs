//! Tokens of requests, estimated without a vocabulary, or counted by one.

mod count;
mod estimator;
#[cfg(feature = "tokenizer")]
mod exact;
mod text;

pub use self::estimator::TokenEstimator;
