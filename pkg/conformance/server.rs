//! A server in memory: it plays what it is told and keeps what it was asked.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::{Stream, future::BoxFuture};
use tokio::time::{Instant, Sleep, sleep};

use crate::{
    llm::transport::{HttpRequest, HttpResponse, Transport, TransportError},
    types::Text,
};

/// What the server does with a request.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// It cannot be reached.
    Gone,
    /// It never answers.
    Silent,
    /// It answers.
    Answer { status: u16, headers: Vec<(Text, Text)>, steps: Vec<Step> },
}

/// What happens next in a body; behind the last step it ends.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Bytes(Bytes),
    Wait(Duration),
    /// The connection breaks.
    Break,
    /// Nothing comes any more, and no end.
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

    /// A good answer in these pieces.
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

/// The server; clones are the same one.
#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    replies: VecDeque<Reply>,
    asked: Vec<Asked>,
    /// Exchanges that are neither over nor dropped.
    open: usize,
}

impl Server {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does this with the next request that has no reply yet.
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
    fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
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

/// Counts as open until it is dropped.
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
