//! The transport that carries requests and responses.

mod address;
mod error;
#[cfg(feature = "http")]
mod failure;
#[cfg(feature = "http")]
mod reqwest;
mod timeouts;
#[cfg(feature = "tls")]
mod tls;
mod types;

#[cfg(feature = "http")]
pub use self::reqwest::{ReqwestTransport, client};
pub use address::{UrlAddress, redact_url};
pub use error::TransportError;
pub use timeouts::Timeouts;
pub use types::{BodyStream, HttpRequest, HttpResponse, Transport, TransportFuture};
