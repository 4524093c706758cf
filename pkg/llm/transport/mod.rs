//! The transport that requests and responses go over.

mod error;
#[cfg(feature = "http")]
mod reqwest;
mod shown;
mod types;

#[cfg(feature = "http")]
pub use self::reqwest::ReqwestTransport;
pub use error::TransportError;
pub(in crate::llm) use shown::shown;
pub use types::{BodyStream, HttpRequest, HttpResponse, Transport};
