//! The HTTP client: the library's own, or one that the program brings.

mod connector;
mod failure;
mod http_transport;
#[cfg(not(feature = "tls"))]
mod plain;
#[cfg(feature = "reqwest")]
mod reqwest;
#[cfg(feature = "tls")]
mod tls;
mod unprocessed;

#[cfg(not(feature = "tls"))]
use self::plain as tls;
#[cfg(feature = "reqwest")]
pub use self::reqwest::ReqwestTransport;
pub(crate) use http_transport::{NOT_ASCII, is_http_url};
pub use {connector::HostLookup, http_transport::HttpTransport};
