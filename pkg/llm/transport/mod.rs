//! The transport that requests and responses go over.

mod error;
mod redact;
#[cfg(feature = "http")]
mod reqwest;
mod types;

#[cfg(feature = "http")]
pub use self::reqwest::ReqwestTransport;
pub use error::TransportError;
pub(in crate::llm) use redact::redact_url;
pub use types::{BodyStream, HttpRequest, HttpResponse, Transport};
