//! A scripted server, and the result of a provider that reads from it.

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
    agent::core::{StreamEnd, StreamMachine, StreamOptions},
    llm::{
        Provider, ProviderError, Request, Timeouts,
        sse::SseLimits,
        transport::{HttpRequest, HttpResponse, Transport, TransportError},
    },
    types::{AgentEvent, Completion, ToolCallContentEvent, ToolCallEndEvent, ToolCallStartEvent},
};
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use tokio::time::{Instant, sleep_until};

use super::Wire;

/// How a server answers one request.
#[derive(Clone)]
pub(super) enum Answer {
    /// There is nobody.
    Refuses,
    /// The connection is not made in this time.
    Unreachable(Duration),
    /// The connection breaks before the head.
    Resets,
    /// No head comes.
    Silent,
    /// A head after a while, then what [`Body`] says.
    Late(Duration, Body),
    /// A head, then what [`Body`] says.
    Status(u16, Vec<(&'static str, String)>, Body),
}

/// A body: its pieces, how often the last comes again, and how it ends.
#[derive(Clone)]
pub(super) struct Body {
    pub(super) pieces: Vec<Bytes>,
    /// How often the last piece comes after the others.
    pub(super) again: usize,
    /// The pause before each piece.
    pub(super) every: Duration,
    pub(super) end: End,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum End {
    Whole,
    Stalls,
    Breaks,
}

impl Body {
    pub(super) fn new(bytes: impl AsRef<[u8]>) -> Self {
        let piece = Bytes::copy_from_slice(bytes.as_ref());
        let pieces = Some(piece).filter(|piece| !piece.is_empty()).into_iter().collect();
        Self { pieces, again: 0, every: Duration::ZERO, end: End::Whole }
    }

    /// A piece for each byte.
    pub(super) fn bytewise(bytes: &[u8]) -> Self {
        Self { pieces: bytes.chunks(1).map(Bytes::copy_from_slice).collect(), ..Self::new("") }
    }

    pub(super) fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    pub(super) fn every(mut self, pause: Duration) -> Self {
        self.every = pause;
        self
    }

    pub(super) fn again(mut self, piece: impl AsRef<[u8]>, times: usize) -> Self {
        self.pieces.push(Bytes::copy_from_slice(piece.as_ref()));
        self.again = times;
        self
    }

    /// The same, byte by byte; `None` for a body that is long or takes its time.
    pub(super) fn cut(&self) -> Option<Self> {
        let all = self.pieces.concat();
        let is_short = self.again == 0 && self.every.is_zero() && all.len() <= 4 << 10;
        is_short.then(|| Self::bytewise(&all).end(self.end))
    }
}

/// Plays answers, one a request, and counts.
#[derive(Default)]
pub(super) struct Server {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<String>>,
    pub(super) bytes: Arc<AtomicUsize>,
}

impl Server {
    pub(super) fn new(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), ..Self::default() })
    }

    pub(super) fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

fn broken() -> TransportError {
    TransportError::broken("connection reset")
}

/// A body as it is sent; `count` receives the number of requested bytes.
fn send(body: Body, count: Arc<AtomicUsize>) -> forgeline::llm::transport::BodyStream {
    let Body { pieces, again, every, end } = body;
    let last = pieces.last().cloned().unwrap_or_default();
    let pieces = pieces.into_iter().chain(std::iter::repeat_n(last, again));
    let pieces = stream::iter(pieces).then(move |piece| {
        count.fetch_add(piece.len(), Ordering::Relaxed);
        async move {
            if !every.is_zero() {
                sleep_until(Instant::now() + every).await;
            }
            Ok(piece)
        }
    });
    let tail = match end {
        End::Whole => stream::empty().boxed(),
        End::Stalls => stream::pending().boxed(),
        End::Breaks => stream::iter([Err(broken())]).boxed(),
    };
    Box::pin(pieces.chain(tail))
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
                Answer::Refuses => Err(TransportError::connect("h", "refused")),
                Answer::Unreachable(after) => {
                    sleep_until(Instant::now() + after).await;
                    Err(TransportError::connect_timeout("h", after))
                }
                Answer::Resets => Err(broken()),
                Answer::Silent => std::future::pending().await,
                Answer::Late(after, body) => {
                    sleep_until(Instant::now() + after).await;
                    Ok(HttpResponse::new(200, send(body, count)))
                }
                Answer::Status(status, headers, body) => {
                    let response = HttpResponse::new(status, send(body, count));
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
pub(super) struct Outcome {
    pub(super) text: String,
    pub(super) error: Option<ProviderError>,
    pub(super) retries: usize,
    pub(super) took: Duration,
    /// The same answer as the agent's core has it.
    pub(super) completion: Completion,
}

/// Asks, and checks what holds whatever the answer is.
pub(super) async fn ask(provider: &dyn Provider) -> Outcome {
    ask_for(provider, Request::prompt("x")).await
}

/// The same with a request.
pub(super) async fn ask_for(provider: &dyn Provider, request: Request) -> Outcome {
    let start = Instant::now();
    let (mut text, mut error, mut retries, mut is_over) = (String::new(), None, 0, false);
    let mut machine = StreamMachine::new(&StreamOptions::default());
    let mut open = Open::default();
    let emit = &mut |event: AgentEvent| open.see(&event);
    match provider.stream_completion(request).await {
        Err(failed) => error = Some(failed),
        Ok(mut chunks) => {
            while let Some(item) = chunks.next().await {
                assert!(error.is_none(), "an error is the last item");
                match item {
                    Err(failed) => {
                        machine.fail(&failed, emit);
                        error = Some(failed);
                    }
                    Ok(chunk) => {
                        text.push_str(&chunk.content);
                        let events = chunk.details.iter().flat_map(|details| &details.events);
                        let is_retry = |event: &&AgentEvent| matches!(event, AgentEvent::Retry(_));
                        retries += events.filter(is_retry).count();
                        // A call over its limit is an error of the completion.
                        let flow = machine.chunk(chunk, emit);
                        is_over |= flow.is_break();
                    }
                }
            }
        }
    }
    let took = start.elapsed();
    let completion = machine.finish(StreamEnd::Done, emit);
    open.end();
    assert!(!is_over || completion.error.is_some(), "a call over its limit is an error");
    Outcome { text, error, retries, took, completion }
}

pub(super) async fn met(wire: &Wire, server: &Arc<Server>, timeouts: Timeouts) -> Outcome {
    met_within(SseLimits::default(), wire, server, timeouts).await
}

pub(super) async fn met_within(
    limits: SseLimits,
    wire: &Wire,
    server: &Arc<Server>,
    timeouts: Timeouts,
) -> Outcome {
    let transport: Arc<dyn Transport> = Arc::clone(server) as _;
    let provider = wire.provider("http://h", &move |mut setup| {
        setup.transport = Some(Arc::clone(&transport));
        setup.timeouts = timeouts;
        setup.limits = limits;
        setup
    });
    ask(&*provider).await
}

pub(super) fn ok(body: Body) -> Answer {
    Answer::Status(200, vec![("content-type", "text/event-stream".to_owned())], body)
}

/// What is open in a sequence of events: every start has one end, and content lies between.
#[derive(Default)]
struct Open {
    section: Option<&'static str>,
    calls: Vec<u32>,
}

impl Open {
    fn see(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::ThinkingStart => self.begin("thinking"),
            AgentEvent::MessageStart => self.begin("message"),
            AgentEvent::ThinkingContent(_) => assert_eq!(self.section, Some("thinking")),
            AgentEvent::MessageContent(_) => assert_eq!(self.section, Some("message")),
            AgentEvent::ThinkingEnd => assert_eq!(self.section.take(), Some("thinking")),
            AgentEvent::MessageEnd => assert_eq!(self.section.take(), Some("message")),
            AgentEvent::ToolCallStart(ToolCallStartEvent { index, .. }) => {
                assert!(!self.calls.contains(index), "call {index} begins twice");
                self.calls.push(*index);
            }
            AgentEvent::ToolCallContent(ToolCallContentEvent { index, .. }) => {
                assert!(self.calls.contains(index), "call {index} is not open");
            }
            AgentEvent::ToolCallEnd(ToolCallEndEvent { index, .. }) => {
                let at = self.calls.iter().position(|open| open == index);
                self.calls.remove(at.expect("a call ends that is not open"));
            }
            _ => {}
        }
    }

    fn begin(&mut self, section: &'static str) {
        assert_eq!(self.section.replace(section), None, "a section is open");
    }

    fn end(self) {
        assert_eq!((self.section, self.calls), (None, Vec::new()), "something stays open");
    }
}
