//! What the tests of several members share: recorded bodies, a scripted server, and the conformance
//! suite of the library.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail them by panicking, and say what is skipped"
)]

use std::{
    fmt::Display,
    io::{self, Write as _},
};

pub mod canned;
pub mod fixtures;
pub mod llama;
pub mod recorded;
pub mod server;

pub use forgeline::conformance;

/// Says something that must be seen although the test passes: what was read, what was skipped. The
/// test harness keeps what `println!` prints to itself.
pub fn say(line: impl Display) {
    drop(writeln!(io::stderr().lock(), "{line}"));
}
