//! The integration tests, in one binary.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a panic is a failed test, and tests say how much they read"
)]

mod openai_bodies;
mod openai_errors;
mod openai_requests;
mod openai_server;
mod sse_vectors;
