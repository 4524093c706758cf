//! Connections of the library's own client: names, proxies and TLS.

use std::{
    error::Error as StdError,
    fmt, io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
    vec,
};

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use http::{HeaderValue, Uri, uri::Scheme};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::{
    legacy::connect::{Connected, Connection, HttpConnector, dns::Name, proxy::Tunnel},
    proxy::matcher::Matcher,
};
use tower_service::Service;

use super::tls::{SecuredConnector, TlsLayer};

type ConnectError = Box<dyn StdError + Send + Sync>;

/// A function that resolves the name of a host; its ports do not count.
pub type HostLookup =
    Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// The time after which a connection without traffic is probed, and between probes.
const PROBE_AFTER: Duration = Duration::from_secs(15);

/// The number of probes without an answer after which a connection is lost.
const PROBES: u32 = 3;

/// The time for which sent bytes may stay without an acknowledgement.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// Makes the connections of a client.
#[derive(Clone)]
pub(super) struct HostConnector {
    direct: SecuredConnector<HttpConnector<NameResolver>>,
    to_proxy: SecuredConnector<HttpConnector<NameResolver>>,
    proxies: Arc<Matcher>,
    timeout: Option<Duration>,
    tls: TlsLayer,
}

impl HostConnector {
    pub(super) fn new(
        timeout: Option<Duration>,
        lookup: Option<HostLookup>,
        proxies: Matcher,
    ) -> Result<Self, ConnectError> {
        let mut plain = HttpConnector::new_with_resolver(NameResolver(lookup));
        plain.set_nodelay(true);
        plain.set_connect_timeout(timeout);
        plain.set_keepalive(Some(PROBE_AFTER));
        plain.set_keepalive_interval(Some(PROBE_AFTER));
        plain.set_keepalive_retries(Some(PROBES));
        #[cfg(target_os = "linux")]
        plain.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
        // The layer above knows which addresses it reaches.
        plain.enforce_http(!cfg!(feature = "tls"));
        let proxies = Arc::new(proxies);
        let tls = TlsLayer::new()?;
        let to_proxy = tls.to_proxy(plain.clone());
        Ok(Self { direct: tls.over(plain), to_proxy, proxies, timeout, tls })
    }

    /// Returns the credentials that a request to a proxy carries itself: one that is not encrypted, and so not tunnelled.
    pub(super) fn proxy_credentials(&self, uri: &Uri) -> Option<HeaderValue> {
        let proxy = self.proxies.intercept(uri).filter(|_| uri.scheme() == Some(&Scheme::HTTP));
        proxy.and_then(|proxy| proxy.basic_auth().cloned())
    }

    /// Returns why no connection is made to this URL: its proxy does not speak HTTP.
    pub(super) fn refusal(&self, uri: &Uri) -> Option<String> {
        let proxy = self.proxies.intercept(uri)?;
        let is_http = matches!(proxy.uri().scheme_str(), Some("http" | "https"));
        let proxy = proxy.uri();
        (!is_http).then(|| {
            format!("the proxy {proxy} does not speak HTTP; expected `http://` or `https://`")
        })
    }

    async fn connect(mut self, uri: Uri) -> Result<HttpConnection, ConnectError> {
        let Some(proxy) = self.proxies.intercept(&uri) else {
            return Ok(HttpConnection::new(self.direct.call(uri).await?));
        };
        if uri.scheme() == Some(&Scheme::HTTP) {
            let mut connection =
                HttpConnection::new(self.to_proxy.call(proxy.uri().clone()).await?);
            connection.form = RequestForm::Proxied;
            return Ok(connection);
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.to_proxy);
        if let Some(credentials) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(credentials.clone());
        }
        Ok(HttpConnection::new(self.tls.over(tunnel).call(uri).await?))
    }
}

impl Service<Uri> for HostConnector {
    type Response = HttpConnection;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<HttpConnection, ConnectError>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let timeout = self.timeout;
        let connecting = self.clone().connect(uri);
        async move {
            match timeout {
                None => connecting.await,
                Some(after) => match tokio::time::timeout(after, connecting).await {
                    Ok(connected) => connected,
                    Err(_) => Err(ConnectingTookTooLong.into()),
                },
            }
        }
        .boxed()
    }
}

/// The failure of a connection that was not made within its time.
#[derive(Debug)]
pub(super) struct ConnectingTookTooLong;

impl fmt::Display for ConnectingTookTooLong {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("connecting took too long")
    }
}

impl StdError for ConnectingTookTooLong {}

/// Resolves the names of hosts: by the caller's function, or else by the system.
#[derive(Clone)]
struct NameResolver(Option<HostLookup>);

impl Service<Name> for NameResolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let name = name.as_str().to_owned();
        match &self.0 {
            Some(lookup) => lookup(name).map(|found| found.map(Vec::into_iter)).boxed(),
            None => async move {
                let found: Vec<_> = tokio::net::lookup_host((name, 0)).await?.collect();
                Ok(found.into_iter())
            }
            .boxed(),
        }
    }
}

/// Bytes in both directions.
trait ByteStreams: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> ByteStreams for T {}

/// An open connection.
pub(super) struct HttpConnection {
    streams: Box<dyn ByteStreams>,
    form: RequestForm,
}

/// The form in which requests are sent over a connection.
#[derive(Clone, Copy)]
enum RequestForm {
    Http1,
    Http2,
    /// HTTP/1 with the whole URL, for a proxy.
    Proxied,
}

impl HttpConnection {
    fn new(streams: impl ByteStreams + Connection + 'static) -> Self {
        let is_http2 = streams.connected().is_negotiated_h2();
        let form = if is_http2 { RequestForm::Http2 } else { RequestForm::Http1 };
        Self { streams: Box::new(streams), form }
    }
}

impl Connection for HttpConnection {
    fn connected(&self) -> Connected {
        match self.form {
            RequestForm::Http1 => Connected::new(),
            RequestForm::Http2 => Connected::new().negotiated_h2(),
            RequestForm::Proxied => Connected::new().proxy(true),
        }
    }
}

impl Read for HttpConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.streams).poll_read(context, buffer)
    }
}

impl Write for HttpConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.streams).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.streams).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.streams).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.streams.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.streams).poll_write_vectored(context, bytes)
    }
}
