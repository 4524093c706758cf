//! The agent: what turns typed chunks into events and acts on them.

pub mod core;
