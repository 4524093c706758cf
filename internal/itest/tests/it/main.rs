//! The integration tests, in one binary: checks of the sources, and tests across layers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking and says what it read; clippy.toml covers `#[test]` only"
)]

mod adr_index;
mod anthropic_found_tools;
mod anthropic_llama;
mod anthropic_requests;
mod anthropic_sessions;
mod attacks;
mod bodies;
mod caller_keys;
mod catalog;
mod chapters;
mod cohere_requests;
mod conformance;
mod console;
mod conventions;
mod coverage;
mod cut_readers;
mod drops;
mod endpoints;
mod error_bodies;
mod errors;
mod events_page;
mod examples;
mod foreign_signatures;
mod found;
mod found_members;
mod found_table;
mod gemini_requests;
mod gemini_signatures;
mod grown_requests;
mod guide_pages;
mod guides;
mod hostile;
mod kept_service;
mod kept_thinking;
#[cfg(unix)]
mod killed;
mod language;
mod layers;
mod left_out;
mod limits;
mod llama;
mod llama_tokens;
#[cfg(unix)]
mod mcp_cancel;
mod mcp_conformance;
mod mcp_everything;
mod models;
mod modules;
mod moved_sessions;
mod neutral_texts;
mod ollama_requests;
mod openai_errors;
mod openai_requests;
mod openai_server;
mod openai_sessions;
mod planted_in_service;
mod public_api;
mod recordings;
mod remedies;
mod repetition;
mod request_bodies;
mod responses_requests;
mod result_parts;
mod secrets;
mod service_clients;
mod service_process;
mod sizes;
mod source;
mod sse_vectors;
mod tool_attribute;
mod tool_runs;
mod tool_schemas;
mod type_names;
mod used_items;
mod variants_can_grow;
mod wires;
mod written_before;
