//! The transport to servers reached over HTTP.

pub(crate) mod authorized_client;
pub(crate) mod connect;
pub(crate) mod idle_streams;
