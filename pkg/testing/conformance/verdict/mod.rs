//! The verdicts of checks, and their report.

mod miss;
mod report;
mod thread;

pub(crate) use miss::{CheckMiss, CheckVerdict, VerdictRows, absent, hold};
pub use report::{CheckReport, Outcome, Report};
pub(crate) use thread::on_a_thread;
