//! Tokens of requests, estimated without a vocabulary.

mod estimator;
mod text;

pub use self::estimator::TokenEstimator;
