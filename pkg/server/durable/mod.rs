//! Durable Streams: logs that any HTTP client reads from an offset, and hosts write.
//!
//! A stream is a log of the [event log](crate::store::EventLog), and what is known of it is a fold over its records ([`State`]). A run is such
//! a stream, which is only read.

mod append;
mod body;
mod config;
mod headers;
mod offset;
mod page;
mod past;
mod read;
mod room;
mod routes;
mod source;
mod sse;
mod state;
mod streams;

pub(super) use self::{
    routes::{append, create, preflight, read, read_run, remove, show, show_run},
    streams::Streams,
};
