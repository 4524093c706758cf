//! The transport that the library brings: reqwest over rustls with ring.

use std::{
    collections::VecDeque,
    convert::Infallible,
    error::Error as StdError,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use http_body::{Body, Frame, SizeHint};
use reqwest::{
    Client, ClientBuilder, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::{HttpRequest, HttpResponse, Transport, TransportError, TransportFuture};
use crate::{
    llm::Timeouts,
    types::{Text, debug_fields},
};

/// Sends requests with a [`reqwest::Client`].
///
/// # Examples
///
/// Bring your own client, for its proxies, certificates or timeouts:
///
/// ```no_run
/// use forgeline::llm::transport::ReqwestTransport;
///
/// # fn build(client: reqwest::Client) {
/// let transport = ReqwestTransport::from_client(client);
/// # }
/// ```
#[derive(Clone)]
pub struct ReqwestTransport {
    client: Client,
    /// The time to connect, where it is known and there is one.
    connect_timeout: Option<Duration>,
}

impl ReqwestTransport {
    /// Creates a transport with the library's client: rustls with *ring*, the system's certificates
    /// and proxies, no redirects, 10 s to connect.
    ///
    /// # Errors
    ///
    /// When the HTTP client cannot be built.
    pub fn new() -> Result<Self, TransportError> {
        Self::with_connect_timeout(Timeouts::default().connect)
    }

    /// Creates a transport with another time to connect; zero waits for ever.
    ///
    /// # Errors
    ///
    /// When the HTTP client cannot be built.
    pub fn with_connect_timeout(connect_timeout: Duration) -> Result<Self, TransportError> {
        let connect_timeout = (!connect_timeout.is_zero()).then_some(connect_timeout);
        let client =
            builder(connect_timeout).and_then(|builder| builder.build().map_err(invalid))?;
        Ok(Self { client, connect_timeout })
    }

    /// Creates a transport with this client. It should follow no redirects; its own timeouts hold
    /// besides the provider's, and how long it takes to connect is its own affair: when that takes
    /// too long, it is a [`TransportError::Connect`] that says so.
    #[must_use]
    pub fn from_client(client: Client) -> Self {
        Self { client, connect_timeout: None }
    }
}

// The client's own form shows its default headers.
debug_fields!(ReqwestTransport, transport: connect_timeout = transport.connect_timeout);

/// Builds the library's client.
fn builder(connect_timeout: Option<Duration>) -> Result<ClientBuilder, TransportError> {
    let builder = Client::builder()
        .tls_backend_preconfigured(tls_config().map_err(invalid)?)
        .redirect(reqwest::redirect::Policy::none());
    Ok(match connect_timeout {
        Some(time) => builder.connect_timeout(time),
        None => builder,
    })
}

/// Configures TLS with ring, handed over instead of installed for the whole process.
fn tls_config() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?;
    // A machine without certificates can still talk to a local server over plain HTTP.
    let mut config = match builder.clone().with_platform_verifier() {
        Ok(builder) => builder.with_no_client_auth(),
        Err(_) => {
            builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

impl Transport for ReqwestTransport {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        let connect_timeout = self.connect_timeout;
        let client = self.client.clone();
        async move {
            let (request, host) = build(&client, request)?;
            let response = client.execute(request).await.map_err(|error| {
                let error = error.without_url();
                match connect_timeout {
                    Some(after) if error.is_connect() && error.is_timeout() => {
                        TransportError::ConnectTimeout { host, after }
                    }
                    _ => TransportError::Connect { host, source: Box::new(error) },
                }
            })?;
            let headers = response.headers().iter().map(|(name, value)| {
                let value = String::from_utf8_lossy(value.as_bytes());
                (Text::from(name.as_str()), Text::from(&*value))
            });
            let headers = headers.collect();
            let status = response.status().as_u16();
            let body = response.bytes_stream().map(|read| {
                read.map_err(|error| TransportError::Broken {
                    source: Box::new(error.without_url()),
                })
            });
            Ok(HttpResponse { status, headers, body: Box::pin(body) })
        }
        .boxed()
    }
}

fn build(
    client: &Client,
    request: HttpRequest,
) -> Result<(reqwest::Request, Text), TransportError> {
    let method = request.method.parse().map_err(invalid)?;
    let url: Url = request.url.parse().map_err(invalid)?;
    let host = url.host_str().unwrap_or("the server");
    let host = match url.port() {
        Some(port) => Text::from(format!("{host}:{port}")),
        None => Text::from(host),
    };
    let mut headers = HeaderMap::with_capacity(request.headers.len());
    for (name, value) in &request.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(invalid)?;
        let mut value = HeaderValue::from_str(value).map_err(invalid)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    // The builder takes a user and password out of the URL, which lower layers log, and makes them a
    // header.
    let mut built = client.request(method, url).headers(headers).build().map_err(invalid)?;
    if !request.body.is_empty() {
        *built.body_mut() = Some(reqwest::Body::wrap(Segments {
            left: request.body_bytes() as u64,
            segments: request.body.into(),
        }));
    }
    Ok((built, host))
}

fn invalid(error: impl StdError + Send + Sync + 'static) -> TransportError {
    TransportError::Invalid { source: Box::new(error) }
}

/// A body that is sent piece by piece, its length known from the start.
struct Segments {
    segments: VecDeque<Bytes>,
    left: u64,
}

impl Body for Segments {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let segment = this.segments.pop_front();
        this.left -= segment.as_ref().map_or(0, |segment| segment.len() as u64);
        Poll::Ready(segment.map(|segment| Ok(Frame::data(segment))))
    }

    fn is_end_stream(&self) -> bool {
        self.segments.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_connect_reaches_the_client_and_is_claimed_only_where_it_is_known() {
        let seven = Duration::from_secs(7);
        let shown = |time| format!("{:?}", builder(time).unwrap());
        assert!(shown(Some(seven)).contains("connect_timeout: 7s"), "{}", shown(Some(seven)));
        assert!(!shown(None).contains("connect_timeout"), "{}", shown(None));
        let known = |transport: ReqwestTransport| transport.connect_timeout;
        let own = |time| known(ReqwestTransport::with_connect_timeout(time).unwrap());
        assert_eq!(own(seven), Some(seven));
        assert_eq!(own(Duration::ZERO), None);
        assert_eq!(known(ReqwestTransport::new().unwrap()), Some(Duration::from_secs(10)));
        assert_eq!(
            known(ReqwestTransport::from_client(builder(None).unwrap().build().unwrap())),
            None
        );
    }
}
