//! Responses out of memory, in fixed reads.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use bytes::Bytes;
use forgeline::llm::transport::{HttpRequest, HttpResponse, Transport, TransportError};
use futures_core::future::BoxFuture;
use futures_util::stream;

/// Answers every request with the same reads, and remembers when it was asked.
#[derive(Debug, Clone)]
pub(crate) struct FixedReads {
    reads: Arc<[Bytes]>,
    /// Reads of one response; the list repeats until then.
    count: usize,
    /// Follows the last read.
    end: Bytes,
    asked: Arc<Mutex<Vec<Instant>>>,
}

impl FixedReads {
    pub(crate) fn new(reads: impl IntoIterator<Item = impl Into<Bytes>>, end: &str) -> Self {
        let reads: Arc<[Bytes]> = reads.into_iter().map(Into::into).collect();
        let end = Bytes::copy_from_slice(end.as_bytes());
        Self { count: reads.len(), reads, end, asked: Arc::default() }
    }

    /// Repeats the list until `count` reads were made.
    pub(crate) fn cycled(mut self, count: usize) -> Self {
        self.count = count;
        self
    }

    /// When the requests came, so far.
    pub(crate) fn take_asked(&self) -> Vec<Instant> {
        std::mem::take(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Transport for FixedReads {
    fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        drop(request);
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        let (reads, count, end) = (Arc::clone(&self.reads), self.count, self.end.clone());
        let body = (0..=count).filter_map(move |at| {
            let read = if at == count { Some(&end) } else { reads.get(at % reads.len()) };
            read.cloned().map(Ok)
        });
        let response = HttpResponse::new(200, Box::pin(stream::iter(body)))
            .with_header("content-type", "text/event-stream");
        Box::pin(async move { Ok(response) })
    }
}
