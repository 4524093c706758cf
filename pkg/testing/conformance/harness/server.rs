//! An in-memory server that plays scripted replies and records the requests.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep};

use forgeline_llm::transport::{
    HttpRequest, HttpResponse, Transport, TransportError, TransportFuture,
};
use forgeline_types::Text;

/// The reply to a request.
#[derive(Debug, Clone)]
pub(in crate::conformance) enum ServerReply {
    /// The server cannot be reached.
    Gone,
    /// The server never answers.
    Silent,
    /// The server answers.
    Answer { status: u16, headers: Vec<(Text, Text)>, steps: Vec<BodyStep> },
}

/// The next part of a body, which ends after the last step.
#[derive(Debug, Clone)]
pub(in crate::conformance) enum BodyStep {
    Bytes(Bytes),
    Wait(Duration),
    /// The connection breaks.
    Break,
    /// Nothing follows, not even the end.
    Hang,
}

impl ServerReply {
    pub(in crate::conformance) fn new(status: u16, body: Bytes) -> Self {
        let steps = vec![BodyStep::Bytes(body)];
        Self::Answer { status, headers: Vec::new(), steps }
    }

    pub(in crate::conformance) fn steps(steps: Vec<BodyStep>) -> Self {
        Self::Answer { status: 200, headers: Vec::new(), steps }
    }

    /// Creates a successful reply that arrives in these pieces.
    pub(in crate::conformance) fn pieces(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        Self::steps(pieces.into_iter().map(BodyStep::Bytes).collect())
    }

    pub(in crate::conformance) fn header(mut self, name: &str, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((Text::from(name), Text::from(value)));
        }
        self
    }
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub(in crate::conformance) struct ReceivedRequest {
    pub(in crate::conformance) at: Instant,
    pub(in crate::conformance) http: HttpRequest,
}

impl ReceivedRequest {
    pub(in crate::conformance) fn body(&self) -> Vec<u8> {
        self.http.body.concat()
    }
}

/// The server. Clones share the same server.
#[derive(Clone, Default)]
pub(in crate::conformance) struct ScriptedServer(Arc<Mutex<ServerState>>);

#[derive(Default)]
struct ServerState {
    replies: VecDeque<ServerReply>,
    asked: Vec<ReceivedRequest>,
    /// The number of exchanges that have neither ended nor been dropped.
    open: usize,
}

impl ScriptedServer {
    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues the reply to the next request.
    pub(in crate::conformance) fn reply(&self, reply: ServerReply) {
        self.state().replies.push_back(reply);
    }

    pub(in crate::conformance) fn asked(&self) -> Vec<ReceivedRequest> {
        self.state().asked.clone()
    }

    pub(in crate::conformance) fn count(&self) -> usize {
        self.state().asked.len()
    }

    pub(in crate::conformance) fn open(&self) -> usize {
        self.state().open
    }
}

impl Transport for ScriptedServer {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        let server = self.clone();
        Box::pin(async move {
            let reply = {
                let mut state = server.state();
                state.asked.push(ReceivedRequest { at: Instant::now(), http: request });
                state.open += 1;
                state.replies.pop_front()
            };
            let exchange = OpenExchange(server);
            match reply {
                None | Some(ServerReply::Gone) => Err(TransportError::connect(
                    "server",
                    Box::new(io::Error::from(io::ErrorKind::ConnectionRefused)),
                )),
                Some(ServerReply::Silent) => std::future::pending().await,
                Some(ServerReply::Answer { status, headers, steps }) => {
                    let body =
                        ScriptedBody { steps: steps.into(), wait: None, _exchange: exchange };
                    let response = HttpResponse::new(status, Box::pin(body));
                    Ok(headers.into_iter().fold(response, |response, (name, value)| {
                        response.with_header(name, value)
                    }))
                }
            }
        })
    }
}

/// An exchange, which counts as open until it is dropped.
struct OpenExchange(ScriptedServer);

impl Drop for OpenExchange {
    fn drop(&mut self) {
        self.0.state().open -= 1;
    }
}

struct ScriptedBody {
    steps: VecDeque<BodyStep>,
    wait: Option<Pin<Box<Sleep>>>,
    _exchange: OpenExchange,
}

impl Stream for ScriptedBody {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(wait) = &mut this.wait {
                ready!(wait.as_mut().poll(context));
                this.wait = None;
            }
            match this.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(BodyStep::Bytes(bytes)) => return Poll::Ready(Some(Ok(bytes))),
                Some(BodyStep::Wait(time)) => this.wait = Some(Box::pin(sleep(time))),
                Some(BodyStep::Break) => {
                    let source = Box::new(io::Error::from(io::ErrorKind::ConnectionReset));
                    return Poll::Ready(Some(Err(TransportError::broken(source))));
                }
                Some(BodyStep::Hang) => {
                    this.steps.push_front(BodyStep::Hang);
                    return Poll::Pending;
                }
            }
        }
    }
}
