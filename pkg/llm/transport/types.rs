//! The transport boundary: plain data in, a stream of bytes out.

use std::pin::Pin;

use bytes::Bytes;
use futures_core::{Stream, future::BoxFuture};

use super::{TransportError, redact_url};
use forgeline_types::{Text, debug_fields, setters};

/// The body of a response as it arrives. Dropping it closes the exchange.
pub type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, TransportError>> + Send>>;

/// A future returned by a [`Transport`], which borrows nothing from it.
pub type TransportFuture = BoxFuture<'static, Result<HttpResponse, TransportError>>;

/// A transport for HTTP requests.
///
/// The library's own is [`HttpTransport`](super::HttpTransport); tests and other HTTP clients
/// implement this trait. Redirects must not be followed: a redirected request would carry its key to
/// another host.
///
/// # Cancel safety
///
/// Dropping the future or the body ends the exchange.
///
/// # Examples
///
/// ```
/// use forgeline::llm::transport::{HttpRequest, HttpResponse, Transport, TransportFuture};
///
/// /// A transport that answers every request with the status 503.
/// struct Outage;
///
/// impl Transport for Outage {
///     fn send(&self, _: HttpRequest) -> TransportFuture {
///         Box::pin(async { Ok(HttpResponse::new(503, Box::pin(futures_util::stream::empty()))) })
///     }
/// }
///
/// # futures_util::FutureExt::now_or_never(async {
/// let response = Outage.send(HttpRequest::new("GET", "http://localhost/")).await?;
/// assert_eq!(response.status, 503);
/// # Ok::<(), forgeline::llm::transport::TransportError>(())
/// # }).unwrap().unwrap();
/// ```
pub trait Transport: Send + Sync {
    /// Sends `request` and waits for the head of the response.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached. An error status is not an error here.
    fn send(&self, request: HttpRequest) -> TransportFuture;
}

impl<T: Transport + ?Sized> Transport for std::sync::Arc<T> {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        (**self).send(request)
    }
}

/// One request. `Debug` shows nothing that may be secret: no header values; no user, password or query
/// values of the URL; and no body.
///
/// # Examples
///
/// ```
/// use forgeline::llm::transport::HttpRequest;
///
/// let request = HttpRequest::new("POST", "https://h/v1?key=secret").header("x-api-key", "secret");
/// assert_eq!(request.body_bytes(), 0);
/// assert!(!format!("{request:?}").contains("secret"));
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct HttpRequest {
    /// The HTTP method, such as `POST`.
    pub method: Text,
    /// The absolute URL.
    pub url: Text,
    /// The names and values of the headers.
    pub headers: Vec<(Text, Text)>,
    /// The body in pieces, which are sent one after another with a single `Content-Length`.
    pub body: Vec<Bytes>,
}

impl HttpRequest {
    /// Creates a request without headers or body.
    #[must_use]
    pub fn new(method: impl Into<Text>, url: impl Into<Text>) -> Self {
        Self { method: method.into(), url: url.into(), headers: Vec::new(), body: Vec::new() }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<Text>, value: impl Into<Text>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    setters! {
        HttpRequest:
        body(Vec<Bytes>),
    }

    /// Returns the length of the body, in bytes.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.body.iter().map(Bytes::len).sum()
    }
}

debug_fields! { HttpRequest, request:
    method = request.method,
    url = redact_url(&request.url),
    headers = request.headers.iter().map(|(name, _)| name).collect::<Vec<_>>(),
    body_bytes = request.body_bytes(),
}

/// The head of a response, and its body as it arrives.
///
/// # Examples
///
/// ```
/// use forgeline::llm::transport::HttpResponse;
///
/// let body = Box::pin(futures_util::stream::empty());
/// let response = HttpResponse::new(429, body).with_header("Retry-After", "7");
/// assert_eq!(response.header("retry-after"), Some("7"));
/// ```
#[non_exhaustive]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// The names of the headers in lower case, and their values.
    pub headers: Vec<(Text, Text)>,
    /// The body.
    pub body: BodyStream,
}

impl HttpResponse {
    /// Creates a response without headers.
    #[must_use]
    pub fn new(status: u16, body: BodyStream) -> Self {
        Self { status, headers: Vec::new(), body }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<Text>, value: impl Into<Text>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Returns the first value of the header `name`.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

debug_fields! { HttpResponse, response:
    status = response.status,
    headers = response.headers.iter().map(|(name, _)| name).collect::<Vec<_>>(),
}
