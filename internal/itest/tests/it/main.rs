//! The integration tests, in one binary: the house rules, and what needs several layers together.

<<<<<<< HEAD
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it read; clippy.toml covers `#[test]` only"
)]

mod adr_index;
mod errors;
mod examples;
mod house;
mod layers;
mod llama;
=======
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a panic is a failed test, and tests say how much they read"
)]

>>>>>>> main
mod openai_bodies;
mod openai_errors;
mod openai_requests;
mod openai_server;
mod sizes;
mod source;
mod sse_vectors;
