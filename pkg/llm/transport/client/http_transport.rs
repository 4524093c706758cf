//! The library's own transport: hyper, over rustls with ring.

use std::{
    collections::VecDeque,
    convert::Infallible,
    error::Error as StdError,
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use futures_util::{FutureExt as _, stream};
use http::{
    HeaderMap, HeaderName, HeaderValue, Uri,
    header::{ACCEPT, AUTHORIZATION, PROXY_AUTHORIZATION},
    uri::{Authority, Scheme},
};
use http_body::{Body, Frame, SizeHint};
use hyper_util::{
    client::{
        legacy::{Client, Error as ClientError},
        proxy::matcher::Matcher,
    },
    rt::{TokioExecutor, TokioTimer},
};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::{
    super::{
        BodyStream, HttpRequest, HttpResponse, Transport, TransportError, TransportFuture,
        UrlAddress,
    },
    connector::{ConnectingTookTooLong, HostConnector, HostLookup},
    failure::{ConnectionFailure, FailedStep},
    unprocessed::is_unprocessed,
};
use crate::Timeouts;
use forgeline_types::{Text, debug_fields};

/// The error of a request that needs TLS in a build without it.
const NO_TLS: &str = "forgeline was built without the feature `tls` and reaches `http://` servers only; \
     enable it, or bring a client by `client(…)` (feature `reqwest`)";

/// The error of a URL whose host has international characters.
pub(crate) const NOT_ASCII: &str = "the host of the URL has characters that are not ASCII; \
     expected the form that DNS uses, such as `xn--bcher-kva.example` for `bücher.example`";

/// The time for which a connection without a request stays open.
const IDLE: Duration = Duration::from_secs(90);

/// The characters of a URL that are sent encoded.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'^')
    .add(b'{')
    .add(b'|')
    .add(b'}')
    .add(b'\\');

/// The library's own transport. It uses the proxies of the environment and of the system (`HTTPS_PROXY`, `NO_PROXY`),
/// and follows no redirects. A request of which the server says in HTTP/2 that it has not processed it is sent once more.
///
/// TLS needs the feature `tls`, and uses the certificates of the system. Its cryptography is the process's default
/// `CryptoProvider` of rustls if the program has installed one before its first transport, and else *ring*. The
/// default itself is not changed.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use forgeline::llm::transport::HttpTransport;
///
/// let transport = HttpTransport::with_connect_timeout(Duration::from_secs(3))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HttpTransport {
    client: Client<HostConnector, SegmentBody>,
    connector: HostConnector,
    /// The time limit for connecting, if there is one.
    connect_timeout: Option<Duration>,
}

impl HttpTransport {
    /// Creates a transport that takes at most 10 s to connect.
    ///
    /// # Errors
    ///
    /// Returns an error if TLS cannot be configured.
    pub fn new() -> Result<Self, TransportError> {
        Self::with_connect_timeout(Timeouts::default().connect)
    }

    /// Creates a transport with another time limit for connecting; zero means no limit.
    ///
    /// # Errors
    ///
    /// Returns an error if TLS cannot be configured.
    pub fn with_connect_timeout(connect_timeout: Duration) -> Result<Self, TransportError> {
        Self::build(connect_timeout, None, Matcher::from_system())
    }

    /// Creates a transport that uses no proxy, whatever the environment says.
    ///
    /// # Errors
    ///
    /// Returns an error if TLS cannot be configured.
    pub fn without_proxies(connect_timeout: Duration) -> Result<Self, TransportError> {
        Self::build(connect_timeout, None, Matcher::builder().build())
    }

    /// Creates a transport that resolves names with the given function.
    ///
    /// # Errors
    ///
    /// Returns an error if TLS cannot be configured.
    #[doc(hidden)]
    pub fn with_lookup(
        connect_timeout: Duration,
        lookup: HostLookup,
    ) -> Result<Self, TransportError> {
        Self::build(connect_timeout, Some(lookup), Matcher::from_system())
    }

    fn build(
        connect_timeout: Duration,
        lookup: Option<HostLookup>,
        proxies: Matcher,
    ) -> Result<Self, TransportError> {
        let connect_timeout = (!connect_timeout.is_zero()).then_some(connect_timeout);
        let connector = HostConnector::new(connect_timeout, lookup, proxies)
            .map_err(|source| TransportError::Invalid { source })?;
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector.clone());
        Ok(Self { client, connector, connect_timeout })
    }
}

debug_fields!(HttpTransport, transport: connect_timeout = transport.connect_timeout);

impl Transport for HttpTransport {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        let this = self.clone();
        async move {
            let mut again = Some(request.clone());
            let mut request = build(request)?;
            let uri = request.uri().clone();
            // HTTP/2 is spoken over TLS alone, but in tests.
            again = again.filter(|_| cfg!(test) || uri.scheme() == Some(&Scheme::HTTPS));
            if !cfg!(feature = "tls") && uri.scheme() == Some(&Scheme::HTTPS) {
                return Err(TransportError::refused(NO_TLS));
            }
            if let Some(message) = this.connector.refusal(&uri) {
                return Err(TransportError::refused(message));
            }
            let credentials = this.connector.proxy_credentials(&uri);
            if let Some(credentials) = credentials.clone() {
                request.headers_mut().insert(PROXY_AUTHORIZATION, credentials);
            }
            let host = uri.authority().map_or("the server", Authority::as_str);
            let mut response = this.client.request(request).await;
            let again =
                again.filter(|_| response.as_ref().is_err_and(|error| is_unprocessed(error)));
            if let Some(again) = again {
                let mut request = build(again)?;
                request.headers_mut().extend(credentials.map(|it| (PROXY_AUTHORIZATION, it)));
                response = this.client.request(request).await;
            }
            let response = response.map_err(|error| match this.connect_timeout {
                Some(after) if took_too_long(&error) => {
                    TransportError::ConnectTimeout { host: Text::from(host), after }
                }
                _ => TransportError::Connect {
                    host: Text::from(host),
                    source: Box::new(failure(error)),
                },
            })?;
            let (head, body) = response.into_parts();
            Ok(HttpResponse {
                status: head.status.as_u16(),
                headers: plain_headers(&head.headers),
                body: body_stream(body),
            })
        }
        .boxed()
    }
}

/// Returns the names and values of headers.
pub(super) fn plain_headers(headers: &HeaderMap) -> Vec<(Text, Text)> {
    let text = |value: &HeaderValue| Text::from(&*String::from_utf8_lossy(value.as_bytes()));
    headers.iter().map(|(name, value)| (Text::from(name.as_str()), text(value))).collect()
}

/// Returns `true` if the connection was not made within its time.
fn took_too_long(error: &ClientError) -> bool {
    let is_late = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
    let mut cause = error.source().filter(|_| error.is_connect());
    while let Some(error) = cause {
        if error.is::<ConnectingTookTooLong>() || error.downcast_ref().is_some_and(is_late) {
            return true;
        }
        cause = error.source();
    }
    false
}

fn failure(error: ClientError) -> ConnectionFailure {
    let step = if error.is_connect() { FailedStep::Connect } else { FailedStep::Exchange };
    ConnectionFailure::of(error, step)
}

/// Returns the data of a body as it arrives.
fn body_stream<B>(body: B) -> BodyStream
where
    B: Body<Data = Bytes, Error: StdError + Send + Sync + 'static> + Send + Unpin + 'static,
{
    Box::pin(stream::unfold(body, |mut body| async move {
        loop {
            match poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Some((Ok(data), body));
                    }
                }
                Err(error) => {
                    let source = Box::new(ConnectionFailure::of(error, FailedStep::Exchange));
                    return Some((Err(TransportError::Broken { source }), body));
                }
            }
        }
    }))
}

pub(super) fn build(request: HttpRequest) -> Result<http::Request<SegmentBody>, TransportError> {
    let (uri, user) = uri(&request.url)?;
    let mut headers = HeaderMap::with_capacity(request.headers.len() + 2);
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    if let Some(user) = user {
        headers.insert(AUTHORIZATION, user);
    }
    for (name, value) in &request.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(invalid)?;
        let mut value = HeaderValue::from_str(value).map_err(invalid)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let left = request.body_bytes() as u64;
    let body = SegmentBody { left, segments: request.body.into() };
    let mut built = http::Request::new(body);
    *built.method_mut() = request.method.parse().map_err(invalid)?;
    *built.uri_mut() = uri;
    *built.headers_mut() = headers;
    Ok(built)
}

/// Returns `true` if requests can be sent to this URL.
pub(crate) fn is_http_url(url: &str) -> bool {
    uri(url).is_ok_and(|(uri, _)| uri.host().is_some_and(|host| !host.is_empty()))
}

/// Returns the URL without its user and password, which go into a header.
fn uri(url: &str) -> Result<(Uri, Option<HeaderValue>), TransportError> {
    if !UrlAddress::new(url.trim()).host.is_ascii() {
        return Err(TransportError::refused(NOT_ASCII));
    }
    let encoded = utf8_percent_encode(url.trim(), ENCODED).to_string();
    let uri: Uri = encoded.parse().map_err(invalid)?;
    let mut parts = uri.into_parts();
    let has_scheme = parts
        .scheme
        .as_ref()
        .is_some_and(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS);
    let Some(authority) = parts.authority.take().filter(|_| has_scheme) else {
        let message = "the URL is not an HTTP URL; expected `http://` or `https://` and a host";
        return Err(TransportError::refused(message));
    };
    let (user, place) = match authority.as_str().rsplit_once('@') {
        Some((user, place)) => (Some(basic(user)?), place.parse::<Authority>().map_err(invalid)?),
        None => (None, authority),
    };
    let port = place.as_str().strip_prefix(place.host()).and_then(|rest| rest.strip_prefix(':'));
    if port.is_some_and(|port| !port.is_empty() && port.parse::<u16>().is_err()) {
        return Err(TransportError::refused("the port of the URL is not a number from 0 to 65535"));
    }
    // The names of `NO_PROXY` are compared letter by letter.
    parts.authority = Some(place.as_str().to_ascii_lowercase().parse().map_err(invalid)?);
    Ok((Uri::from_parts(parts).map_err(invalid)?, user))
}

/// Returns the header of a user and password as they stand in a URL.
fn basic(user: &str) -> Result<HeaderValue, TransportError> {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let mut credentials: Vec<u8> = percent_decode_str(name).collect();
    credentials.push(b':');
    credentials.extend(percent_decode_str(password));
    let header = format!("Basic {}", BASE64_STANDARD.encode(credentials));
    let mut header = HeaderValue::try_from(header).map_err(invalid)?;
    header.set_sensitive(true);
    Ok(header)
}

fn invalid(error: impl StdError + Send + Sync + 'static) -> TransportError {
    TransportError::Invalid { source: Box::new(error) }
}

/// A body that is sent piece by piece, its length known from the start.
pub(super) struct SegmentBody {
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
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    // Found: F3
    #[cfg(not(feature = "tls"))]
    #[tokio::test]
    async fn without_tls_https_is_refused_with_the_remedy() {
        let request = HttpRequest::new("GET", "https://127.0.0.1:9/");
        let error = HttpTransport::new().unwrap().send(request).await.unwrap_err();
        assert!(error.to_string().contains("feature `tls`"), "{error}");
    }

    #[test]
    fn a_user_of_a_url_goes_into_a_header_and_odd_characters_are_encoded() {
        #[rustfmt::skip]
        let rows = [
            ("http://h:1/v1?a=b",           Some("http://h:1/v1?a=b"),      None),
            (" https://h ",                 Some("https://h/"),             None),
            ("http://u:p%40@h/x",           Some("http://h/x"),             Some("Basic dTpwQA==")),
            ("http://a@b:c@h/x",            Some("http://h/x"),             Some("Basic YUBiOmM=")),
            ("http://[::1]:8/ü a",          Some("http://[::1]:8/%C3%BC%20a"), None),
            ("http://u:p^{|}@LLM.Example/X", Some("http://llm.example/X"),  Some("Basic dTpwXnt8fQ==")),
            ("ftp://h/",                    None,                           None),
            ("http://h:no/v1",              None,                           None),
            ("http://h:99999/v1",           None,                           None),
            ("/v1",                         None,                           None),
            ("https://bücher.example/v1",   None,                           None),
            ("http:///v1",                  None,                           None),
        ];
        for (url, want, user) in rows {
            let read = uri(url);
            let Some(want) = want else {
                assert!(read.is_err() && !is_http_url(url), "{url}: {read:?}");
                continue;
            };
            let (uri, header) = read.unwrap();
            assert!(is_http_url(url), "{url}");
            assert_eq!(uri.to_string(), want, "{url}");
            assert_eq!(header.as_ref().map(|it| it.to_str().unwrap()), user, "{url}");
        }
    }

    #[test]
    fn the_time_to_connect_is_that_of_the_caller() {
        let own = |time| HttpTransport::with_connect_timeout(time).unwrap().connect_timeout;
        let seven = Duration::from_secs(7);
        assert_eq!(own(seven), Some(seven));
        assert_eq!(own(Duration::ZERO), None);
        let usual = HttpTransport::new().unwrap().connect_timeout;
        assert_eq!(usual, Some(Duration::from_secs(10)));
    }

    #[tokio::test]
    async fn a_proxy_that_does_not_speak_http_is_refused_with_its_name_and_passed_by_as_it_says() {
        let proxies = Matcher::builder().all("socks5://127.0.0.1:9").no("near.example").build();
        let transport = HttpTransport::build(Duration::from_secs(9), None, proxies).unwrap();
        let far = transport.send(HttpRequest::new("GET", "http://far.example/")).await;
        let error = far.unwrap_err();
        assert!(matches!(error, TransportError::Refused { .. }), "{error:?}");
        assert!(error.to_string().contains("socks5://127.0.0.1:9"), "{error}");
        let near = uri("http://Near.Example/").unwrap().0;
        assert_eq!(transport.connector.refusal(&near), None, "NO_PROXY in other letters");
    }

    /// Returns the first bytes of a connection to a server, or to a proxy before it.
    async fn hello(is_proxy: bool) -> Vec<u8> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("https://{}", listener.local_addr().unwrap());
        let (proxies, url) = if is_proxy {
            (Matcher::builder().all(server).build(), "https://far.example/".to_owned())
        } else {
            (Matcher::builder().build(), server)
        };
        let transport = HttpTransport::build(Duration::from_secs(9), None, proxies).unwrap();
        let sending = tokio::spawn(transport.send(HttpRequest::new("GET", &*url)));
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 5];
        stream.read_exact(&mut head).await.unwrap();
        let mut hello = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
        stream.read_exact(&mut hello).await.unwrap();
        drop(stream);
        assert!(sending.await.unwrap().is_err(), "the server has closed");
        hello
    }

    #[tokio::test]
    async fn http_2_is_offered_to_servers_and_not_to_proxies() {
        if !cfg!(feature = "tls") {
            return;
        }
        let offers_http_2 = |hello: &[u8]| hello.windows(3).any(|bytes| bytes == b"\x02h2");
        assert!(offers_http_2(&hello(false).await));
        assert!(!offers_http_2(&hello(true).await));
    }

    /// Returns what a proxy is asked for first, by a request for this URL.
    async fn asked_of_proxy(url: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = format!("http://u:p@{}", listener.local_addr().unwrap());
        let proxies = Matcher::builder().all(proxy).no("near.example").build();
        let transport = HttpTransport::build(Duration::from_secs(9), None, proxies).unwrap();
        let sending = tokio::spawn(transport.send(HttpRequest::new("GET", url)));
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        drop(stream);
        assert!(sending.await.unwrap().is_err(), "the proxy has closed");
        String::from_utf8(head).unwrap()
    }

    #[tokio::test]
    async fn a_proxy_gets_the_whole_url_or_is_a_tunnel_and_knows_who_asks() {
        let plain = asked_of_proxy("http://far.example:81/v1?a=b").await;
        assert!(plain.starts_with("GET http://far.example:81/v1?a=b HTTP/1.1\r\n"), "{plain}");
        assert!(plain.contains("\r\nhost: far.example:81\r\n"), "{plain}");
        assert!(plain.contains("\r\nproxy-authorization: Basic dTpw\r\n"), "{plain}");
        if cfg!(feature = "tls") {
            let secured = asked_of_proxy("https://far.example/v1").await.to_ascii_lowercase();
            assert!(secured.starts_with("connect far.example:443 http/1.1\r\n"), "{secured}");
            assert!(secured.contains("proxy-authorization: basic dtpw"), "{secured}");
        }
    }

    /// A server of HTTP/2 without TLS, which answers each request with the next of these frames, and the first one without a frame with
    /// status 204. Returns its URL, and the number of requests so far.
    async fn http_2_server(frames: Vec<Vec<u8>>) -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (asked, counter) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&counter);
        let frames = Arc::new(frames);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (asked, count, frames) =
                    (Arc::clone(&asked), Arc::clone(&count), Arc::clone(&frames));
                tokio::spawn(async move {
                    let mut preface = [0; 24];
                    stream.read_exact(&mut preface).await.unwrap();
                    // Settings without a change.
                    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
                    let mut head = [0; 9];
                    while stream.read_exact(&mut head).await.is_ok() {
                        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
                        let mut payload = vec![0; length as usize];
                        stream.read_exact(&mut payload).await.unwrap();
                        // The frame of the headers of a request.
                        if head[3] != 1 {
                            continue;
                        }
                        count.fetch_add(1, Ordering::SeqCst);
                        let [.., a, b, c, d] = head;
                        let mut answer = match frames.get(asked.fetch_add(1, Ordering::SeqCst)) {
                            Some(frame) => frame.clone(),
                            // Headers that end the stream: the ninth entry of the static table is `:status: 204`.
                            None => vec![0, 0, 1, 1, 5, 0, 0, 0, 0, 0x89],
                        };
                        // All but a GOAWAY are about the stream of the request.
                        if answer[3] != 7 {
                            answer[5..9].copy_from_slice(&[a, b, c, d]);
                        }
                        stream.write_all(&answer).await.unwrap();
                    }
                });
            }
        });
        (url, counter)
    }

    fn http_2_transport() -> HttpTransport {
        let connector = HostConnector::new(None, None, Matcher::builder().build()).unwrap();
        let client =
            Client::builder(TokioExecutor::new()).http2_only(true).build(connector.clone());
        HttpTransport { client, connector, connect_timeout: None }
    }

    #[tokio::test]
    async fn what_a_server_has_certainly_not_processed_is_sent_once_more() {
        let reset = |code: u8| vec![0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0, code];
        let (refused, cancelled) = (reset(7), reset(8));
        let go_away = |last: u8| vec![0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, last, 0, 0, 0, 0];
        // A GOAWAY that names the stream of the request, which then is reset: it may have been processed.
        let processed = [go_away(1), vec![0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8]].concat();
        #[rustfmt::skip]
        let rows = [
            ("answered",                 vec![],                              true,  1),
            ("its stream was refused",   vec![refused.clone()],               true,  2),
            ("the connection ended",     vec![go_away(0)],                    true,  2),
            ("refused twice",            vec![refused.clone(), refused],      false, 2),
            ("its stream was cancelled", vec![cancelled],                     false, 1),
            ("it was the last one",      vec![processed],                     false, 1),
        ];
        for (name, frames, is_answered, want) in rows {
            let (url, asked) = http_2_server(frames).await;
            let request = HttpRequest::new("POST", url).body(vec![Bytes::from_static(b"{}")]);
            let answer = http_2_transport().send(request).await;
            assert_eq!(answer.is_ok_and(|answer| answer.status == 204), is_answered, "{name}");
            assert_eq!(asked.load(Ordering::SeqCst), want, "{name}");
        }
    }
}
