//! Trying again: the same provider after a pause, or the next one of a chain.
//!
//! Either is possible only until something of an answer was delivered; what had been delivered cannot
//! be taken back. Each further attempt is an event that the consumer sees.

mod driver;
mod failover;
mod retry;
#[cfg(test)]
mod tests;

pub use failover::{Failover, FailoverHop};
pub use retry::{RetryPolicy, Retrying};

#[cfg(feature = "http")]
pub(super) use driver::{Attempts, Next, begin};
#[cfg(feature = "http")]
pub(super) use retry::RetrySchedule;
