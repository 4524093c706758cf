//! The transport to servers reached over HTTP.

pub(crate) mod authorized_client;
pub(crate) mod client;
pub(crate) mod connect;
mod event_limit;
pub(crate) mod idle_streams;
