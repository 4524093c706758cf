//! The integration tests, in one binary.

mod openai_bodies;
mod openai_errors;
mod openai_requests;
mod openai_server;
mod sse_vectors;
