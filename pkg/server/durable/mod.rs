//! Durable Streams: logs that hosts write and any HTTP client reads from an offset.
//!
//! A stream is a log of the [event log](forgeline_store::EventLog), and its [`State`] is a fold over the log's records. A run is also such a stream, but
//! read-only.

pub(super) mod append;
pub(super) mod body;
pub(super) mod byte_quota;
pub(super) mod config;
mod expiry;
pub(super) mod headers;
pub(super) mod offset;
pub(super) mod page;
pub(super) mod read;
pub(super) mod saved_encoders;
pub(super) mod source;
pub(super) mod sse;
pub(super) mod state;
pub(super) mod streams;

pub(super) use self::streams::HostStreams;
