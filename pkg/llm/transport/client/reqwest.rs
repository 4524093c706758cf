//! The library's own transport: reqwest, by default over rustls with ring.

use std::{
    collections::VecDeque,
    convert::Infallible,
    error::Error as StdError,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use http_body::{Body, Frame, SizeHint};
use reqwest::{
    Client, ClientBuilder, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};

use super::{
    HttpRequest, HttpResponse, Transport, TransportError, TransportFuture,
    failure::ConnectionFailure,
};
use crate::Timeouts;
use forgeline_types::{Text, debug_fields};

/// The error of a request that needs TLS in a build without it.
const NO_TLS: &str = "forgeline was built without the feature `tls` and reaches `http://` servers only; \
     enable it, or bring a client by `client(…)`";

/// A transport that sends requests with a [`reqwest::Client`].
///
/// # Examples
///
/// Provide your own client for its proxies, certificates or timeouts:
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
    /// The time limit for connecting, if there is a known one.
    connect_timeout: Option<Duration>,
    /// `false` for the library's own client when it was built without the feature `tls`.
    has_tls: bool,
}

impl ReqwestTransport {
    /// Creates a transport with the library's client: rustls with *ring*, the system's certificates
    /// and proxies, no redirects, 10 s to connect. Without the feature `tls` it speaks plain HTTP only.
    ///
    /// If the process has no default `CryptoProvider` of rustls yet, this function makes *ring* the default,
    /// because `reqwest::Client::new()` elsewhere in the program would panic without one. A program that
    /// wants another provider must install it first.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client cannot be built.
    pub fn new() -> Result<Self, TransportError> {
        Self::with_connect_timeout(Timeouts::default().connect)
    }

    /// Creates a transport with another time limit for connecting; zero means no limit.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client cannot be built.
    pub fn with_connect_timeout(connect_timeout: Duration) -> Result<Self, TransportError> {
        let connect_timeout = (!connect_timeout.is_zero()).then_some(connect_timeout);
        let client = client(connect_timeout, Policy::none())?;
        Ok(Self { client, connect_timeout, has_tls: cfg!(feature = "tls") })
    }

    /// Creates a transport that resolves names with the given resolver.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client cannot be built.
    #[doc(hidden)]
    pub fn with_resolver(
        connect_timeout: Duration,
        resolver: std::sync::Arc<impl reqwest::dns::Resolve + 'static>,
    ) -> Result<Self, TransportError> {
        let connect_timeout = Some(connect_timeout);
        let builder = builder(connect_timeout, Policy::none())?.dns_resolver(resolver);
        let client = builder.build().map_err(invalid)?;
        Ok(Self { client, connect_timeout, has_tls: cfg!(feature = "tls") })
    }

    /// Creates a transport with this client. It should follow no redirects; its own timeouts apply
    /// in addition to the provider's. Its limit on connecting is not known here: exceeding it
    /// is a [`TransportError::Connect`] that says so.
    #[must_use]
    pub fn from_client(client: Client) -> Self {
        Self { client, connect_timeout: None, has_tls: true }
    }
}

// The client's own `Debug` shows its default headers.
debug_fields!(ReqwestTransport, transport: connect_timeout = transport.connect_timeout);

/// Builds the library's client, with this redirect policy.
///
/// # Errors
///
/// Returns an error if the HTTP client cannot be built.
pub fn client(
    connect_timeout: Option<Duration>,
    redirects: Policy,
) -> Result<Client, TransportError> {
    builder(connect_timeout, redirects).and_then(|builder| builder.build().map_err(invalid))
}

#[cfg_attr(not(feature = "tls"), expect(clippy::unnecessary_wraps, reason = "TLS may fail"))]
fn builder(
    connect_timeout: Option<Duration>,
    redirects: Policy,
) -> Result<ClientBuilder, TransportError> {
    let builder = Client::builder().redirect(redirects);
    #[cfg(feature = "tls")]
    let builder = builder.tls_backend_preconfigured(super::tls::config().map_err(invalid)?);
    Ok(match connect_timeout {
        Some(time) => builder.connect_timeout(time),
        None => builder,
    })
}

impl Transport for ReqwestTransport {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        let (connect_timeout, has_tls) = (self.connect_timeout, self.has_tls);
        let client = self.client.clone();
        async move {
            let (request, host) = build(&client, request)?;
            if !has_tls && request.url().scheme() == "https" {
                return Err(TransportError::Refused { message: Text::from(NO_TLS) });
            }
            let response = client.execute(request).await.map_err(|error| {
                let error = error.without_url();
                match connect_timeout {
                    Some(after) if error.is_connect() && error.is_timeout() => {
                        TransportError::ConnectTimeout { host, after }
                    }
                    _ => TransportError::Connect {
                        host,
                        source: Box::new(ConnectionFailure::of(error)),
                    },
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
                    source: Box::new(ConnectionFailure::of(error.without_url())),
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
    // The builder takes user and password out of the URL, which lower layers log, and puts them into a
    // header.
    let mut built = client.request(method, url).headers(headers).build().map_err(invalid)?;
    if !request.body.is_empty() {
        *built.body_mut() = Some(reqwest::Body::wrap(SegmentBody {
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
struct SegmentBody {
    segments: VecDeque<Bytes>,
    left: u64,
}

impl Body for SegmentBody {
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

    // Found: F3
    #[cfg(not(feature = "tls"))]
    #[tokio::test]
    async fn without_tls_only_the_program_s_own_client_may_use_it() {
        let request = || HttpRequest::new("GET", "https://127.0.0.1:9/");
        let error = ReqwestTransport::new().unwrap().send(request()).await.unwrap_err();
        assert!(error.to_string().contains("feature `tls`"), "{error}");
        let error = ReqwestTransport::from_client(Client::new()).send(request()).await.unwrap_err();
        assert!(matches!(error, TransportError::Connect { .. }), "{error}");
    }

    #[test]
    fn the_time_to_connect_reaches_the_client_and_is_claimed_only_where_it_is_known() {
        let seven = Duration::from_secs(7);
        let shown = |time| format!("{:?}", builder(time, Policy::none()).unwrap());
        assert!(shown(Some(seven)).contains("connect_timeout: 7s"), "{}", shown(Some(seven)));
        assert!(!shown(None).contains("connect_timeout"), "{}", shown(None));
        let known = |transport: ReqwestTransport| transport.connect_timeout;
        let own = |time| known(ReqwestTransport::with_connect_timeout(time).unwrap());
        assert_eq!(own(seven), Some(seven));
        assert_eq!(own(Duration::ZERO), None);
        assert_eq!(known(ReqwestTransport::new().unwrap()), Some(Duration::from_secs(10)));
        assert_eq!(
            known(ReqwestTransport::from_client(client(None, Policy::none()).unwrap())),
            None
        );
    }
}
