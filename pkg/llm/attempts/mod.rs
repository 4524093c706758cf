//! Retries of the same provider after a pause, and failover to the next one of a chain.
//!
//! Retries stop once output starts, because what was delivered cannot be taken back. Each further attempt
//! is an event that the consumer sees.

mod chain;
pub(super) mod driver;
mod failover;
mod limited;
#[cfg(test)]
mod limited_tests;
pub(super) mod retry;
#[cfg(test)]
mod tests;

pub use chain::FailoverHop;
pub use failover::Failover;
pub use limited::Limited;
pub use retry::{RetryPolicy, Retrying};
