//! What the tests of several members share: recorded bodies and a scripted server.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic in test support is a failed test"
)]

pub mod server;
pub mod shared;
