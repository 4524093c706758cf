//! Responses out of memory, in fixed reads.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use forgeline::llm::transport::{HttpRequest, HttpResponse, Transport, TransportError};
use futures_core::future::BoxFuture;
use futures_util::stream;

use crate::measure::own_clock;

/// Answers every request with the same reads, and remembers when it was asked.
#[derive(Debug, Clone)]
pub(crate) struct FixedReads {
    reads: Arc<[Bytes]>,
    /// Reads of one response; the list repeats until then.
    count: usize,
    /// Follows the last read.
    end: Bytes,
    /// `None` while nobody asks: the clock of a thread is not there under valgrind.
    asked: Option<Arc<Mutex<Vec<f64>>>>,
}

impl FixedReads {
    pub(crate) fn new(reads: impl IntoIterator<Item = impl Into<Bytes>>, end: &str) -> Self {
        let reads: Arc<[Bytes]> = reads.into_iter().map(Into::into).collect();
        let end = Bytes::copy_from_slice(end.as_bytes());
        Self { count: reads.len(), reads, end, asked: None }
    }

    /// Repeats the list until `count` reads were made.
    pub(crate) fn cycled(mut self, count: usize) -> Self {
        self.count = count;
        self
    }

    /// Notes when the requests come.
    pub(crate) fn timed(mut self) -> Self {
        self.asked = Some(Arc::default());
        self
    }

    /// When the requests came, so far: on the clock of their thread, in nanoseconds.
    pub(crate) fn take_asked(&self) -> Vec<f64> {
        let asked =
            self.asked.as_ref().map(|asked| asked.lock().unwrap_or_else(PoisonError::into_inner));
        asked.map_or_else(Vec::new, |mut asked| std::mem::take(&mut *asked))
    }
}

impl Transport for FixedReads {
    fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        drop(request);
        if let Some(asked) = &self.asked {
            asked.lock().unwrap_or_else(PoisonError::into_inner).push(own_clock());
        }
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
