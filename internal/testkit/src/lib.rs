//! Helpers of tests: recorded bodies, a scripted server, and the conformance
//! suite of the library.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail them by panicking, and say what is skipped"
)]

use std::{
    env,
    fmt::Display,
    io::{self, Write as _},
};

pub mod canned;
pub mod console;
pub mod fixtures;
pub mod llama;
pub mod mcp;
#[cfg(unix)]
pub mod message_proxy;
pub mod neutral;
#[cfg(unix)]
pub mod nodes;
pub mod pooler;
pub mod postgres;
pub mod process;
pub mod recorded;
#[cfg(unix)]
pub mod redis;
pub mod server;
pub mod service;
#[cfg(unix)]
pub mod small_disk;

pub use forgeline::testing::conformance;

/// Returns the distance between the places at which tests cut: 16 where `FORGELINE_QUICK` is set, as in `make quick`; otherwise each
/// place is one.
#[must_use]
pub fn cut_step() -> usize {
    if env::var_os("FORGELINE_QUICK").is_some() { 16 } else { 1 }
}

/// Prints a line that must be seen although the test passes, such as what was skipped. The test
/// harness captures `println!`.
pub fn say(line: impl Display) {
    drop(writeln!(io::stderr().lock(), "{line}"));
}
