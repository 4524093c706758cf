//! Bodies of error statuses: bounded in bytes and time, and never with what an authorisation hook made.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use forgeline::{
    llm::{
        Provider, ProviderError, Request, RetryPolicy, TimeoutKind, Timeouts,
        http::{Authorize, CallScope, Secret},
        openai::OpenAi,
        transport::{BodyStream, HttpRequest, HttpResponse, Transport, TransportError},
    },
    types::Text,
};
use forgeline_testkit::canned::Canned;
use futures_util::{StreamExt as _, future::BoxFuture, stream};
use tokio::time::Instant;

/// What the hook makes of a token that expires.
const TOKEN: &str = "ya29-planted-0123456789";

/// Makes a bearer token, as for a cloud account.
struct Hook;

impl Authorize for Hook {
    fn headers(
        &self,
        _: &CallScope<'_>,
    ) -> BoxFuture<'static, Result<Vec<(Text, Secret)>, ProviderError>> {
        let header = (Text::from("authorization"), format!("Bearer {TOKEN}").into());
        Box::pin(async move { Ok(vec![header]) })
    }
}

/// A server that answers with a status and a body of this kind.
struct Server {
    status: u16,
    body: fn(Arc<AtomicUsize>) -> BodyStream,
    read: Arc<AtomicUsize>,
}

impl Server {
    fn new(status: u16, body: fn(Arc<AtomicUsize>) -> BodyStream) -> Arc<Self> {
        Arc::new(Self { status, body, read: Arc::default() })
    }
}

impl Transport for Server {
    fn send(&self, _: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let response = HttpResponse::new(self.status, (self.body)(Arc::clone(&self.read)));
        Box::pin(async move { Ok(response) })
    }
}

fn provider(server: impl Transport + 'static, timeouts: Timeouts) -> OpenAi {
    let builder = OpenAi::builder().base_url("http://h").model("m").authorize(Hook);
    builder.retry(RetryPolicy::NONE).timeouts(timeouts).transport(server).build().unwrap()
}

/// What an error shows, with its causes and what the server sent.
fn shown(error: &ProviderError) -> String {
    format!("{error} {error:?} {} {:?}", error.to_agent_error(), error.raw())
}

// Found: S7
#[tokio::test]
async fn what_an_authorisation_hook_made_is_in_no_error() {
    let words = format!("no such token: {TOKEN}");
    let object = format!(r#"{{"error":{{"code":"{TOKEN}","message":"{words}"}}}}"#);
    let header = |name: &str| vec![(name.to_owned(), words.clone())];
    #[rustfmt::skip]
    let cases = [
        ("401",                     Canned::status(401, object.clone())),
        ("500 in words",            Canned::status(500, words.clone())),
        ("an id",                   Canned::with(429, header("x-request-id"), "")),
        ("a redirect",              Canned::with(302, header("location"), "")),
        ("an error in a 200",       Canned::new(object.clone())),
        ("an error in the stream",  Canned::new(format!("data: {object}\n\n"))),
        ("words in a 200",          Canned::new(words.clone())),
    ];
    for (case, server) in cases {
        let provider = provider(server, Timeouts::NONE);
        let answer = match provider.stream_completion(Request::prompt("x")).await {
            Err(error) => error,
            Ok(chunks) => {
                let items: Vec<_> = chunks.collect().await;
                items.into_iter().find_map(Result::err).unwrap()
            }
        };
        let health = provider.health().await.unwrap_err();
        for (way, error) in [("the answer", answer), ("the health check", health)] {
            let shown = shown(&error);
            assert!(!shown.contains("ya29-planted"), "{case}, {way}: {shown}");
        }
    }
}

/// A body of 1,024 pieces of 1 KiB, whose reader counts its bytes.
fn long(read: Arc<AtomicUsize>) -> BodyStream {
    let piece = Bytes::from_static(&[b'x'; 1024]);
    let pieces = stream::iter(0..1024).map(move |_| {
        read.fetch_add(piece.len(), Ordering::Relaxed);
        Ok(piece.clone())
    });
    Box::pin(pieces)
}

// Found: S8
#[tokio::test]
async fn the_body_of_an_error_status_is_read_to_64_kib_and_no_further() {
    let server = Server::new(500, long);
    let provider = provider(Arc::clone(&server), Timeouts::NONE);
    let error = provider.stream_completion(Request::prompt("x")).await.map(drop).unwrap_err();
    assert!(matches!(&error, ProviderError::Status(status) if status.status == 500), "{error:?}");
    assert_eq!(server.read.swap(0, Ordering::Relaxed), 64 << 10);
    let error = provider.health().await.unwrap_err();
    assert!(matches!(&error, ProviderError::Status(status) if status.status == 500), "{error:?}");
    assert_eq!(server.read.load(Ordering::Relaxed), 64 << 10);
}

/// A body that begins and never goes on.
fn stalled(_: Arc<AtomicUsize>) -> BodyStream {
    Box::pin(stream::iter([Ok(Bytes::from_static(b"{"))]).chain(stream::pending()))
}

// Found: S8
#[tokio::test(start_paused = true)]
async fn the_body_of_an_error_status_is_waited_for_two_seconds_and_no_longer_than_an_answer() {
    let seconds = Duration::from_secs;
    #[rustfmt::skip]
    let cases = [
        ("its own limit",  Timeouts::NONE,                                          2),
        ("the first byte", Timeouts::NONE.first_byte(seconds(1)),                   1),
        ("the exchange",   Timeouts::NONE.first_byte(seconds(9)).total(seconds(1)), 1),
    ];
    for (case, timeouts, after) in cases {
        let provider = provider(Server::new(503, stalled), timeouts);
        let start = Instant::now();
        let answer = provider.stream_completion(Request::prompt("x"));
        let answer = tokio::time::timeout(seconds(60), answer).await.expect(case);
        let error = answer.map(drop).unwrap_err();
        assert!(matches!(&error, ProviderError::Status(status) if status.status == 503), "{case}");
        assert_eq!(start.elapsed().as_secs(), after, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_health_check_waits_10_seconds_for_a_list_and_two_for_an_error() {
    for (status, after) in [(200, 10), (503, 2)] {
        let provider = provider(Server::new(status, stalled), Timeouts::NONE);
        let start = Instant::now();
        let health = tokio::time::timeout(Duration::from_mins(1), provider.health()).await;
        let error = health.expect("no end").unwrap_err();
        let is_timeout = matches!(error, ProviderError::Timeout { which: TimeoutKind::Total, .. });
        assert_eq!(is_timeout, status == 200, "{error:?}");
        assert_eq!(start.elapsed().as_secs(), after, "{status}");
    }
}
