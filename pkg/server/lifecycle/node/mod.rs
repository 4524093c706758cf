//! The life of this process as one of several nodes that share a store: it says each second that it is alive, takes runs over, and compares those that it
//! owns with those that it holds.

mod claims;
mod comparison;
pub(crate) mod membership;
pub(crate) mod run_turn;
mod ticks;
