//! Durable Streams: logs that hosts write and any HTTP client reads from an offset.
//!
//! A stream is a log of the [event log](crate::store::EventLog), and its [`State`] is a fold over the log's records. A run is also such a stream, but
//! read-only.

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
