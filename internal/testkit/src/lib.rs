//! What the tests of several members share: recorded bodies and a scripted server.

<<<<<<< HEAD
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail them by panicking, and say what is skipped"
)]

pub mod llama;
=======
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic in test support is a failed test"
)]

>>>>>>> main
pub mod server;
pub mod shared;
