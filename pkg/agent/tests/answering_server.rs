//! A server that gives prepared answers in small pieces.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures_util::stream;
use serde_json::Value;

use forgeline_llm::transport::{
    HttpRequest, HttpResponse, Transport, TransportError, TransportFuture,
};

/// Bytes of a piece in which an answer arrives.
const PIECE_BYTES: usize = 11;

/// Gives one answer after the other, and keeps what it was sent.
#[derive(Clone)]
pub(super) struct Server(Arc<Mutex<(VecDeque<Bytes>, Vec<String>)>>);

impl Server {
    pub(super) fn new(answers: impl IntoIterator<Item = Bytes>) -> Self {
        Self(Arc::new(Mutex::new((answers.into_iter().collect(), Vec::new()))))
    }

    pub(super) fn sent(&self) -> Vec<String> {
        self.0.lock().unwrap().1.clone()
    }

    pub(super) fn values(&self) -> Vec<Value> {
        self.sent().iter().map(|body| serde_json::from_str(body).unwrap()).collect()
    }
}

impl Transport for Server {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        let mut state = self.0.lock().unwrap();
        state.1.push(String::from_utf8(request.body.concat()).unwrap());
        let answer = state.0.pop_front();
        let response = answer.map(|body| {
            let pieces = (0..body.len()).step_by(PIECE_BYTES);
            let pieces = pieces.map(move |at| Ok(body.slice(at..body.len().min(at + PIECE_BYTES))));
            HttpResponse::new(200, Box::pin(stream::iter(pieces)))
        });
        let over = || TransportError::refused("there is no more");
        Box::pin(std::future::ready(response.ok_or_else(over)))
    }
}
