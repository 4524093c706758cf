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

use crate::{
    llm::transport::{HttpRequest, HttpResponse, Transport, TransportError, TransportFuture},
    types::Text,
};

/// The reply to a request.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// The server cannot be reached.
    Gone,
    /// The server never answers.
    Silent,
    /// The server answers.
    Answer { status: u16, headers: Vec<(Text, Text)>, steps: Vec<Step> },
}

/// The next part of a body, which ends after the last step.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Bytes(Bytes),
    Wait(Duration),
    /// The connection breaks.
    Break,
    /// Nothing follows, not even the end.
    Hang,
}

impl Reply {
    pub(super) fn new(status: u16, body: Bytes) -> Self {
        let steps = vec![Step::Bytes(body)];
        Self::Answer { status, headers: Vec::new(), steps }
    }

    pub(super) fn steps(steps: Vec<Step>) -> Self {
        Self::Answer { status: 200, headers: Vec::new(), steps }
    }

    /// Creates a successful reply that arrives in these pieces.
    pub(super) fn pieces(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        Self::steps(pieces.into_iter().map(Step::Bytes).collect())
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((Text::from(name), Text::from(value)));
        }
        self
    }
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) at: Instant,
    pub(super) http: HttpRequest,
}

impl Asked {
    pub(super) fn body(&self) -> Vec<u8> {
        self.http.body.concat()
    }
}

/// The server. Clones share the same server.
#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    replies: VecDeque<Reply>,
    asked: Vec<Asked>,
    /// The number of exchanges that have neither ended nor been dropped.
    open: usize,
}

impl Server {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues the reply to the next request.
    pub(super) fn reply(&self, reply: Reply) {
        self.state().replies.push_back(reply);
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    pub(super) fn count(&self) -> usize {
        self.state().asked.len()
    }

    pub(super) fn open(&self) -> usize {
        self.state().open
    }
}

impl Transport for Server {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        let server = self.clone();
        Box::pin(async move {
            let reply = {
                let mut state = server.state();
                state.asked.push(Asked { at: Instant::now(), http: request });
                state.open += 1;
                state.replies.pop_front()
            };
            let exchange = Exchange(server);
            match reply {
                None | Some(Reply::Gone) => Err(TransportError::Connect {
                    host: Text::from("server"),
                    source: Box::new(io::Error::from(io::ErrorKind::ConnectionRefused)),
                }),
                Some(Reply::Silent) => std::future::pending().await,
                Some(Reply::Answer { status, headers, steps }) => {
                    let body = Body { steps: steps.into(), wait: None, _exchange: exchange };
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
struct Exchange(Server);

impl Drop for Exchange {
    fn drop(&mut self) {
        self.0.state().open -= 1;
    }
}

struct Body {
    steps: VecDeque<Step>,
    wait: Option<Pin<Box<Sleep>>>,
    _exchange: Exchange,
}

impl Stream for Body {
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
                Some(Step::Bytes(bytes)) => return Poll::Ready(Some(Ok(bytes))),
                Some(Step::Wait(time)) => this.wait = Some(Box::pin(sleep(time))),
                Some(Step::Break) => {
                    let source = Box::new(io::Error::from(io::ErrorKind::ConnectionReset));
                    return Poll::Ready(Some(Err(TransportError::Broken { source })));
                }
                Some(Step::Hang) => {
                    this.steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
            }
        }
    }
}
