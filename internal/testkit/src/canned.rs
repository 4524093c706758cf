//! A transport without a socket, which answers every request alike and keeps what it was sent.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use forgeline::llm::{
    Provider as _, ProviderError, Request,
    http::{HttpBuilder, WireFormat},
    transport::{HttpRequest, HttpResponse, Transport, TransportError},
};
use futures_util::{future::BoxFuture, stream};
use serde_json::Value;

/// Bytes of a piece in which the body arrives.
const PIECE_BYTES: usize = 13;

/// Answers every request alike and keeps what it was sent.
#[derive(Debug)]
pub struct Canned {
    status: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
    sent: Mutex<Vec<HttpRequest>>,
}

impl Canned {
    /// Answers 200 with this body.
    pub fn new(body: impl Into<Bytes>) -> Arc<Self> {
        Self::with(200, Vec::new(), body)
    }

    /// Answers with this status and body.
    pub fn status(status: u16, body: impl Into<Bytes>) -> Arc<Self> {
        Self::with(status, Vec::new(), body)
    }

    /// Answers with this status, these headers and this body.
    pub fn with(status: u16, headers: Vec<(String, String)>, body: impl Into<Bytes>) -> Arc<Self> {
        Arc::new(Self { status, headers, body: body.into(), sent: Mutex::default() })
    }

    /// Returns the requests so far.
    ///
    /// # Panics
    ///
    /// Panics after a panic of another thread.
    pub fn sent(&self) -> Vec<HttpRequest> {
        self.sent.lock().unwrap().clone()
    }

    /// Returns the last request.
    ///
    /// # Panics
    ///
    /// Panics when no request was sent.
    pub fn last(&self) -> HttpRequest {
        self.sent.lock().unwrap().last().expect("no request was sent").clone()
    }

    /// Returns the body of the last request in the segments in which it was handed over.
    pub fn segments(&self) -> Vec<Bytes> {
        self.last().body
    }

    /// Returns the body of the last request as JSON.
    ///
    /// # Panics
    ///
    /// Panics when no request was sent, or its body is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.segments().concat()).unwrap()
    }
}

impl Transport for Canned {
    fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        self.sent.lock().unwrap().push(request);
        let body = self.body.clone();
        let pieces = (0..body.len())
            .step_by(PIECE_BYTES)
            .map(move |at| Ok(body.slice(at..body.len().min(at + PIECE_BYTES))));
        let response = HttpResponse::new(self.status, Box::pin(stream::iter(pieces)));
        let response = self.headers.iter().fold(response, |response, (name, value)| {
            response.with_header(name.as_str(), value.as_str())
        });
        Box::pin(async move { Ok(response) })
    }
}

/// Sends `request` to a server that answers nothing, and returns what arrived there.
///
/// # Errors
///
/// Returns the error of the provider.
pub async fn sent<W: WireFormat>(
    builder: HttpBuilder<W>,
    request: &Request,
) -> Result<HttpRequest, ProviderError> {
    let server = Canned::new("");
    let provider = builder.transport(Arc::clone(&server)).build()?;
    drop(provider.stream_completion(request.clone()).await?);
    Ok(server.last())
}

/// Returns the body of what [`sent`] sends.
///
/// # Panics
///
/// Panics when the provider refuses the request.
pub async fn sent_json<W: WireFormat>(builder: HttpBuilder<W>, request: &Request) -> Value {
    serde_json::from_slice(&sent(builder, request).await.unwrap().body.concat()).unwrap()
}
