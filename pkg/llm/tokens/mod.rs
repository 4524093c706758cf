//! Token counts of requests, estimated without a vocabulary or counted with one.

mod count;
mod estimator;
#[cfg(feature = "tokenizer")]
mod exact;
mod text;

pub use self::estimator::TokenEstimator;
