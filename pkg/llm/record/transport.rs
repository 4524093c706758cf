//! The transport that writes down what passes through it.

use std::{
    fmt, io,
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::{Stream, future::BoxFuture};

use super::{Words, underway::Underway, writer::Writer};
use crate::llm::transport::{BodyStream, HttpRequest, HttpResponse, Transport, TransportError};

/// A transport that writes every exchange of another one to a file, without its secrets: see
/// [the module](super) for the format and for what counts as secret.
///
/// It changes nothing: pieces arrive as they come, and a disk that is slow or full costs the
/// recording, never the exchange. An exchange is written when it has ended: its body was read to the
/// end, broke off, or was dropped, in which case what had arrived is kept. Clones write to the same
/// file, which is whole when the last of them and the last body are gone, or after
/// [`flush`](Self::flush).
///
/// # Examples
///
/// ```no_run
/// # #[cfg(feature = "openai")] {
/// use forgeline::llm::{openai::OpenAi, record::RecordingTransport, transport::ReqwestTransport};
///
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let recorder = RecordingTransport::create("session.jsonl", ReqwestTransport::new()?)?;
/// let provider = OpenAi::builder().base_url("http://127.0.0.1:8080").transport(recorder.clone()).build()?;
/// // … talk with it …
/// println!("{} exchanges", recorder.flush()?);
/// # Ok(())
/// # }
/// # }
/// ```
pub struct RecordingTransport<T> {
    inner: Arc<T>,
    writer: Arc<Writer>,
    turns: Arc<AtomicU32>,
    words: Words,
    max_body_bytes: usize,
}

impl<T> Clone for RecordingTransport<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            writer: Arc::clone(&self.writer),
            turns: Arc::clone(&self.turns),
            words: self.words.clone(),
            max_body_bytes: self.max_body_bytes,
        }
    }
}

impl<T> fmt::Debug for RecordingTransport<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RecordingTransport")
            .field("turns", &self.turns)
            .field("words", &self.words)
            .field("max_body_bytes", &self.max_body_bytes)
            .finish_non_exhaustive()
    }
}

impl<T: Transport> RecordingTransport<T> {
    /// Records what passes through `inner` to a new file at `path`; one that is there is replaced.
    ///
    /// # Errors
    ///
    /// When the file cannot be made.
    pub fn create(path: impl AsRef<Path>, inner: T) -> io::Result<Self> {
        Ok(Self {
            inner: Arc::new(inner),
            writer: Arc::new(Writer::create(path.as_ref())?),
            turns: Arc::default(),
            words: Words::default(),
            max_body_bytes: 8 << 20,
        })
    }

    /// Adds a word that must not be written down, beside those that are found by where they stand.
    #[must_use]
    pub fn secret(mut self, word: impl AsRef<str>) -> Self {
        self.words.add(word.as_ref());
        self
    }

    /// Sets how much of a body is kept, in bytes. A longer response is recorded as `cut`, a longer
    /// request without its body. Default: 8 MiB.
    #[must_use]
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }

    /// Waits until every exchange that has ended is in the file; gives how many there are. It blocks
    /// the thread for as long as writing takes.
    ///
    /// # Errors
    ///
    /// When writing failed, or when exchanges were lost because the disk was too slow.
    pub fn flush(&self) -> io::Result<u64> {
        self.writer.flush()
    }
}

impl<T: Transport> Transport for RecordingTransport<T> {
    fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed) + 1;
        let (writer, words) = (Arc::clone(&self.writer), self.words.clone());
        let mut underway = Underway::new(writer, turn, request.clone(), words, self.max_body_bytes);
        let response = self.inner.send(request);
        Box::pin(async move {
            match response.await {
                Ok(mut response) => {
                    underway.head(&response);
                    response.body = Box::pin(Body { inner: response.body, underway });
                    Ok(response)
                }
                Err(error) => {
                    underway.broken(&error);
                    Err(error)
                }
            }
        })
    }
}

/// A body that is written down while it is read.
struct Body {
    inner: BodyStream,
    underway: Underway,
}

impl Stream for Body {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(self.inner.as_mut().poll_next(context));
        match &item {
            Some(Ok(bytes)) => self.underway.read(bytes),
            Some(Err(error)) => self.underway.broken(error),
            None => self.underway.whole(),
        }
        Poll::Ready(item)
    }
}
