//! The transport that carries requests and responses.

mod address;
#[cfg(feature = "http")]
pub(crate) mod client;
mod error;
mod timeouts;
mod types;

pub use address::{UrlAddress, redact_url};
#[cfg(feature = "http")]
pub use client::*;
pub use error::TransportError;
pub use timeouts::Timeouts;
pub use types::{BodyStream, HttpRequest, HttpResponse, Transport, TransportFuture};
