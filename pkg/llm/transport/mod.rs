//! How requests reach a server.

mod address;
mod error;
#[cfg(feature = "http")]
mod reqwest;
mod types;

#[cfg(feature = "http")]
pub use self::reqwest::ReqwestTransport;
pub(crate) use address::Address;
pub use error::TransportError;
pub use types::{BodyStream, HttpRequest, HttpResponse, Transport};
