//! Servers that do what no server should: a typed error in time, bounded memory, nothing delivered is
//! lost, nothing is asked twice.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use forgeline::{
    llm::{
        Provider, ProviderError, Request, RetryPolicy, TimeoutKind, Timeouts,
        sse::SseLimits,
        transport::{HttpRequest, HttpResponse, Transport, TransportError},
    },
    types::{AgentEvent, ErrorCode},
};
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use tokio::time::Instant;

use super::wires::{WIRES, Wire};

const SECOND: Duration = Duration::from_secs(1);

/// How a server answers one request.
#[derive(Clone)]
enum Answer {
    /// There is nobody.
    Refuses,
    /// No head comes.
    Silent,
    /// A head, then what [`Body`] says.
    Status(u16, Vec<(&'static str, &'static str)>, Body),
}

/// A body: its pieces, how often the last comes again, and how it ends.
#[derive(Clone)]
struct Body {
    pieces: Vec<Bytes>,
    /// How often the last piece comes after the others.
    again: usize,
    /// The pause before each piece.
    every: Duration,
    end: End,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Whole,
    Stalls,
    Breaks,
}

impl Body {
    fn of(text: &str) -> Self {
        let piece = Bytes::copy_from_slice(text.as_bytes());
        let pieces = Some(piece).filter(|piece| !piece.is_empty()).into_iter().collect();
        Self { pieces, again: 0, every: Duration::ZERO, end: End::Whole }
    }

    fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    fn every(mut self, pause: Duration) -> Self {
        self.every = pause;
        self
    }

    fn again(mut self, piece: &[u8], times: usize) -> Self {
        self.pieces.push(Bytes::copy_from_slice(piece));
        self.again = times;
        self
    }
}

/// Plays answers, one a request, and counts.
#[derive(Default)]
struct Server {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<String>>,
    bytes: Arc<AtomicUsize>,
}

impl Server {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), ..Self::default() })
    }

    fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

fn broken() -> TransportError {
    TransportError::Broken { source: "connection reset".into() }
}

impl Transport for Server {
    fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        self.requests.lock().unwrap().push(request.url.to_string());
        let answer = self.answers.lock().unwrap().pop_front().expect("asked too often");
        let count = Arc::clone(&self.bytes);
        async move {
            match answer {
                Answer::Refuses => {
                    Err(TransportError::Connect { host: "h".into(), source: "refused".into() })
                }
                Answer::Silent => std::future::pending().await,
                Answer::Status(status, headers, body) => {
                    let Body { pieces, again, every, end } = body;
                    let last = pieces.last().cloned().unwrap_or_default();
                    let pieces = pieces.into_iter().chain(std::iter::repeat_n(last, again));
                    let pieces = stream::iter(pieces).then(move |piece| {
                        count.fetch_add(piece.len(), Ordering::Relaxed);
                        async move {
                            if !every.is_zero() {
                                tokio::time::sleep(every).await;
                            }
                            Ok(piece)
                        }
                    });
                    let tail = match end {
                        End::Whole => stream::empty().boxed(),
                        End::Stalls => stream::pending().boxed(),
                        End::Breaks => stream::iter([Err(broken())]).boxed(),
                    };
                    let response = HttpResponse::new(status, Box::pin(pieces.chain(tail)));
                    Ok(headers.into_iter().fold(response, |response, (name, value)| {
                        response.with_header(name, value)
                    }))
                }
            }
        }
        .boxed()
    }
}

/// What came of a request.
#[derive(Debug)]
struct Outcome {
    text: String,
    error: Option<ProviderError>,
    retries: usize,
    took: Duration,
}

async fn ask(provider: &dyn Provider) -> Outcome {
    let start = Instant::now();
    let mut outcome =
        Outcome { text: String::new(), error: None, retries: 0, took: Duration::ZERO };
    match provider.stream_completion(Request::prompt("x")).await {
        Err(error) => outcome.error = Some(error),
        Ok(mut chunks) => {
            while let Some(item) = chunks.next().await {
                assert!(outcome.error.is_none(), "an error is the last item");
                match item {
                    Err(error) => outcome.error = Some(error),
                    Ok(chunk) => {
                        outcome.text.push_str(&chunk.content);
                        let events = chunk.details.map(|details| details.events);
                        let is_retry =
                            |event: &AgentEvent| matches!(event, AgentEvent::Retry { .. });
                        outcome.retries +=
                            events.iter().flatten().filter(|event| is_retry(event)).count();
                    }
                }
            }
        }
    }
    outcome.took = start.elapsed();
    outcome
}

async fn met(wire: &Wire, server: &Arc<Server>, timeouts: Timeouts) -> Outcome {
    let transport: Arc<dyn Transport> = Arc::clone(server) as _;
    let provider = wire.provider("http://h", &move |mut setup| {
        setup.transport = Some(Arc::clone(&transport));
        setup.timeouts = timeouts;
        setup
    });
    ask(&*provider).await
}

fn ok(body: Body) -> Answer {
    Answer::Status(200, vec![("content-type", "text/event-stream")], body)
}

/// A first delta, after which whatever follows.
fn begun(wire: &Wire) -> String {
    format!("{}{}", wire.begin, wire.delta("kept"))
}

#[tokio::test(start_paused = true)]
async fn every_wait_ends_in_the_configured_time_with_its_own_error() {
    let timeouts = Timeouts::NONE.first_byte(5 * SECOND).idle(7 * SECOND).total(60 * SECOND);
    for wire in WIRES {
        let begun = begun(wire);
        let slow = Body::of(&begun).again(b" ", 10_000).every(SECOND);
        let comments = Body::of(wire.comment).again(wire.comment.as_bytes(), 10_000).every(SECOND);
        let trickle = Body {
            pieces: begun.repeat(8).bytes().map(|byte| Bytes::from(vec![byte])).collect(),
            ..Body::of("")
        };
        let endless = Body::of(&begun).again(wire.delta("more").as_bytes(), 1 << 20);
        #[rustfmt::skip]
        let cases = [
            ("no head",            Answer::Silent,                           TimeoutKind::FirstByte, 5),
            ("no body",            ok(Body::of("").end(End::Stalls)),        TimeoutKind::FirstByte, 5),
            ("stalls",             ok(Body::of(&begun).end(End::Stalls)),    TimeoutKind::Idle,      7),
            ("a byte a second",    ok(trickle.every(SECOND).end(End::Stalls)), TimeoutKind::Total,   60),
            ("blanks for ever",    ok(slow),                                 TimeoutKind::Total,     60),
            ("comments for ever",  ok(comments),                             TimeoutKind::Total,     60),
            ("words for ever",     ok(endless.every(Duration::from_millis(10))), TimeoutKind::Total, 60),
        ];
        for (case, answer, want, seconds) in cases {
            if case == "comments for ever" && wire.comment.is_empty() {
                continue;
            }
            let name = format!("{}, {case}", wire.name);
            let server = Server::new([answer]);
            let outcome = met(wire, &server, timeouts).await;
            let error = outcome.error.unwrap_or_else(|| panic!("{name}: no error"));
            assert!(
                matches!(error, ProviderError::Timeout { which, .. } if which == want),
                "{name}: {error:?}"
            );
            // Timers of the runtime are as fine as a millisecond.
            let late = outcome.took.saturating_sub(Duration::from_secs(seconds));
            assert!(
                outcome.took >= Duration::from_secs(seconds) && late < SECOND,
                "{name}: {:?}",
                outcome.took
            );
            assert_eq!(server.asked(), 1, "{name}: a wait that took too long is not begun again");
            let text = outcome.text.as_str();
            match case {
                "stalls" | "blanks for ever" | "words for ever" => {
                    assert!(text.starts_with("kept"), "{name}: {text}");
                }
                // How far it comes depends on how much the protocol writes around a word.
                "a byte a second" => {}
                _ => assert_eq!(text, "", "{name}"),
            }
        }
    }
}

/// R3: the status is known, so the wait for its words is short, and what there is of them is kept.
// Found: R3
#[tokio::test(start_paused = true)]
async fn r3_a_stalled_error_body_takes_two_seconds() {
    for wire in WIRES {
        for (case, words, seconds) in [("silent", "", 2), ("stalls", "you may not", 2)] {
            let name = format!("{}, {case}", wire.name);
            let body = Body::of(words).end(End::Stalls);
            let server = Server::new([Answer::Status(403, Vec::new(), body)]);
            let outcome = met(wire, &server, Timeouts::default()).await;
            let error = outcome.error.unwrap();
            assert_eq!(error.code(), ErrorCode::Auth, "{name}: {error:?}");
            assert!(error.to_string().contains(words), "{name}: {error}");
            let late = outcome.took.saturating_sub(seconds * SECOND);
            assert!(
                outcome.took >= seconds * SECOND && late < SECOND,
                "{name}: {:?}",
                outcome.took
            );
            assert_eq!(server.asked(), 1, "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn after_the_first_delta_nothing_is_asked_again_and_before_it_three_times() {
    for wire in WIRES {
        let cases = [
            ("breaks", Body::of(&begun(wire)).end(End::Breaks), ErrorCode::Connect),
            ("ends early", Body::of(&begun(wire)), ErrorCode::EndedEarly),
        ];
        for (case, body, code) in cases {
            let name = format!("{}, {case}", wire.name);
            let server = Server::new([ok(body.clone())]);
            let outcome = met(wire, &server, Timeouts::NONE).await;
            assert_eq!(outcome.error.unwrap().code(), code, "{name}");
            assert_eq!(
                (outcome.text.as_str(), server.asked(), outcome.retries),
                ("kept", 1, 0),
                "{name}"
            );

            let blank =
                Body { pieces: vec![Bytes::copy_from_slice(wire.begin.as_bytes())], ..body };
            let server = Server::new([Answer::Refuses, ok(blank.clone()), ok(blank)]);
            let outcome = met(wire, &server, Timeouts::NONE).await;
            let error = outcome.error.unwrap();
            assert!(
                matches!(error, ProviderError::RetriesExhausted { attempts: 3, .. }),
                "{name}: {error:?}"
            );
            assert_eq!((error.code(), server.asked(), outcome.retries), (code, 3, 2), "{name}");
            assert_eq!(outcome.took, Duration::from_millis(1500), "{name}");
        }
        let whole = format!("{}{}", begun(wire), wire.end);
        let busy = Answer::Status(503, Vec::new(), Body::of("busy"));
        let server = Server::new([Answer::Refuses, busy, ok(Body::of(&whole))]);
        let outcome = met(wire, &server, Timeouts::NONE).await;
        assert_eq!((outcome.text.as_str(), outcome.retries), ("kept", 2), "{}", wire.name);
        assert!(outcome.error.is_none(), "{}: {:?}", wire.name, outcome.error);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_answer_is_said_to_be_none() {
    let page = "<!doctype html>\n<html><head><title>Sign in</title></head></html>";
    let refusal = "{\"error\":{\"message\":\"no such model\",\"type\":\"invalid_request_error\"}}";
    for wire in WIRES {
        let typed = |kind| vec![("content-type", kind)];
        let location = vec![("location", "https://elsewhere/v1?token=t")];
        #[rustfmt::skip]
        let cases = [
            ("a page",          ok(Body::of(page)),                                       ErrorCode::Decode,         "a web page"),
            ("a page, named",   Answer::Status(200, typed("text/html"), Body::of(page)),  ErrorCode::Decode,         "a web page"),
            ("a redirect",      Answer::Status(307, location, Body::of("")),              ErrorCode::InvalidRequest, "https://elsewhere/v1,"),
            ("a page as error", Answer::Status(404, typed("text/html"), Body::of(page)),  ErrorCode::InvalidRequest, "Sign in"),
            ("nothing",         ok(Body::of("")),                                         ErrorCode::EndedEarly,     "ended early"),
            ("an error as 200", ok(Body::of(refusal)),                                    ErrorCode::InvalidRequest, "no such model"),
            ("binary",          ok(Body::of("\u{0}\u{1}PNG")),                            ErrorCode::Decode,         "starts with"),
        ];
        for (case, answer, code, says) in cases {
            let name = format!("{}, {case}", wire.name);
            let server = Server::new([answer]);
            let transport: Arc<dyn Transport> = Arc::clone(&server) as _;
            let provider = wire.provider("http://h", &move |mut setup| {
                setup.transport = Some(Arc::clone(&transport));
                setup.retry = RetryPolicy::NONE;
                setup
            });
            let outcome = ask(&*provider).await;
            let error = outcome.error.unwrap_or_else(|| panic!("{name}: no error"));
            assert_eq!(error.code(), code, "{name}: {error:?}");
            assert!(error.to_string().contains(says), "{name}: {error}");
            assert!(!error.to_string().contains("token=t"), "{name}: {error}");
        }
        // What the head says does not matter when the body is an answer.
        let whole = format!("{}{}", begun(wire), wire.end);
        for kind in ["text/html", "application/json", "text/plain; charset=latin1"] {
            let server = Server::new([Answer::Status(200, typed(kind), Body::of(&whole))]);
            let outcome = met(wire, &server, Timeouts::NONE).await;
            assert_eq!(
                (outcome.text.as_str(), outcome.error.is_none()),
                ("kept", true),
                "{}, {kind}",
                wire.name
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_megabytes_in_one_event_are_not_kept() {
    const PIECE: usize = 16 << 10;
    for wire in WIRES {
        let delta = wire.delta("TEXT");
        let (head, _) = delta.split_once("TEXT").unwrap();
        let body =
            Body::of(&format!("{}{head}", begun(wire))).again(&[b'x'; PIECE], (100 << 20) / PIECE);
        let server = Server::new([ok(body)]);
        let outcome = met(wire, &server, Timeouts::NONE).await;
        let error = outcome.error.unwrap();
        let ProviderError::Decode { offset, .. } = error else {
            panic!("{}: {error:?}", wire.name)
        };
        assert!(offset >= begun(wire).len() as u64, "{}: {offset}", wire.name);
        assert_eq!((outcome.text.as_str(), server.asked()), ("kept", 1), "{}", wire.name);
        // What was not asked for was not kept either; the limit is 8 MiB.
        let read = server.bytes.load(Ordering::Relaxed);
        assert!(read <= (8 << 20) + (1 << 20), "{}: {read} bytes were read", wire.name);
    }
}

#[tokio::test]
async fn a_server_that_always_has_more_to_say_ends_in_time() {
    const MANY: usize = 1 << 23;
    let timeouts = Timeouts::NONE.total(Duration::from_millis(250));
    for wire in WIRES {
        for piece in [wire.delta("more"), wire.comment.to_owned()] {
            if piece.is_empty() {
                continue;
            }
            let body = Body::of(&begun(wire)).again(piece.as_bytes(), MANY);
            let server = Server::new([ok(body)]);
            let outcome = met(wire, &server, timeouts).await;
            let name = format!("{}, {piece}", wire.name);
            let error = outcome.error.unwrap_or_else(|| panic!("{name}: no error"));
            let total = TimeoutKind::Total;
            assert!(
                matches!(error, ProviderError::Timeout { which, .. } if which == total),
                "{name}: {error:?}"
            );
            assert!(outcome.text.starts_with("kept"), "{name}");
            assert!(server.bytes.load(Ordering::Relaxed) < MANY * piece.len(), "{name}");
        }
    }
}

#[tokio::test]
async fn a_body_without_end_is_cut_at_the_limit_and_a_whole_answer_stays_whole() {
    const MOST: usize = 64 << 10;
    let limits = SseLimits::default().max_response_bytes(MOST);
    for wire in WIRES {
        let met = async |start: &str, piece: &str| {
            let server = Server::new([ok(Body::of(start).again(piece.as_bytes(), MOST))]);
            let transport: Arc<dyn Transport> = Arc::clone(&server) as _;
            let provider = wire.provider("http://h", &move |mut setup| {
                setup.transport = Some(Arc::clone(&transport));
                setup.limits = limits;
                setup
            });
            (ask(&*provider).await, server.bytes.load(Ordering::Relaxed))
        };
        let (outcome, read) = met(&begun(wire), &wire.delta("more")).await;
        let error = outcome.error.unwrap_or_else(|| panic!("{}: no error", wire.name));
        let is_limit = matches!(&error, ProviderError::Decode { offset, reason }
            if *offset == MOST as u64 && reason.contains("max_response_bytes"));
        assert!(is_limit, "{}: {error:?}", wire.name);
        assert!(outcome.text.starts_with("keptmore"), "{}", wire.name);
        assert!(read < MOST + 1024, "{}: {read} bytes were read", wire.name);

        let whole = format!("{}{}", begun(wire), wire.end);
        let (outcome, read) = met(&whole, "\n").await;
        assert!(outcome.error.is_none(), "{}: {:?}", wire.name, outcome.error);
        assert_eq!(outcome.text, "kept", "{}", wire.name);
        assert!(read < MOST + 1024, "{}: {read} bytes were read", wire.name);
    }
}
