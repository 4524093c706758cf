//! The transport that carries requests and responses.

mod address;
mod error;
#[cfg(feature = "http")]
mod reqwest;
#[cfg(feature = "tls")]
mod tls;
mod types;

#[cfg(feature = "http")]
pub use self::reqwest::ReqwestTransport;
#[cfg(feature = "mcp")]
pub(crate) use self::reqwest::client;
#[cfg(feature = "http")]
pub(crate) use address::Address;
pub(crate) use address::redact_url;
pub use error::TransportError;
pub use types::{BodyStream, HttpRequest, HttpResponse, Transport, TransportFuture};
