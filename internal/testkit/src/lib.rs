//! What the tests of several members share: recorded bodies and a scripted server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail them by panicking, and say what is skipped"
)]

pub mod llama;
pub mod server;
pub mod shared;
