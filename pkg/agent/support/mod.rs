//! Helpers of all folders of the agent: the clock, digests, and futures whose time and panics are bounded.

mod bounded;
pub(crate) mod clock;
mod digest;
mod panic;
mod stopwatch;

pub(crate) use self::panic::text;
pub(crate) use self::{
    bounded::{bounded, bounded_unless},
    clock::{elapsed_ms, next_run_id, system_now},
    digest::digest,
    stopwatch::Stopwatch,
};
