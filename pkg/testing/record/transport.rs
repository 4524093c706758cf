//! A transport that records the exchanges of another one.

use std::{
    fs, io,
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::Instant;

use super::{
    BodyRead, ExchangeEnd, Failure, RecordedResponse, finished::SecretExchange,
    writer::RecordingWriter,
};
use forgeline_llm::{
    private::SecretRedactor,
    transport::{
        BodyStream, HttpRequest, HttpResponse, Transport, TransportError, TransportFuture,
    },
};
use forgeline_types::debug_fields;

/// A transport that writes every exchange of another one to a file, with secrets redacted; see
/// [the module](super) for the format and the definition of a secret.
///
/// Responses pass unchanged and without delay; a slow or full disk affects the recording, never the
/// exchange. An exchange is written when it has ended: when its body has been read to the end, broke off or
/// was dropped; the part that had arrived by then is kept. Clones write to the same file, which is complete
/// once the last clone and the last body have been dropped, or after [`flush`](Self::flush).
///
/// # Examples
///
/// ```no_run
/// use forgeline::{
///     llm::{openai::OpenAi, transport::HttpTransport},
///     testing::record::RecordingTransport,
/// };
///
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let recorder = RecordingTransport::create("session.jsonl", HttpTransport::new()?)?;
/// let provider = OpenAi::builder().base_url("http://127.0.0.1:8080").transport(recorder.clone()).build()?;
/// // … use it …
/// println!("{} exchanges", recorder.flush()?);
/// # Ok(())
/// # }
/// ```
pub struct RecordingTransport<T> {
    inner: Arc<T>,
    writer: Arc<RecordingWriter>,
    turns: Arc<AtomicU32>,
    redactor: SecretRedactor,
    max_body_bytes: usize,
}

impl<T> Clone for RecordingTransport<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            writer: Arc::clone(&self.writer),
            turns: Arc::clone(&self.turns),
            redactor: self.redactor.clone(),
            max_body_bytes: self.max_body_bytes,
        }
    }
}

debug_fields! { <T> RecordingTransport, transport:
    turns = transport.turns,
    redactor = transport.redactor,
    max_body_bytes = transport.max_body_bytes,
}

impl<T: Transport> RecordingTransport<T> {
    /// Records the exchanges of `inner` in a new file at `path`, which only its owner can read.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be created; if it exists, an error of the kind
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists).
    pub fn create(path: impl AsRef<Path>, inner: T) -> io::Result<Self> {
        Ok(Self {
            inner: Arc::new(inner),
            writer: Arc::new(RecordingWriter::create(path.as_ref())?),
            turns: Arc::default(),
            redactor: SecretRedactor::default(),
            max_body_bytes: 8 << 20,
        })
    }

    /// Records like [`create`](Self::create), but replaces the file at `path`. A symbolic link is
    /// replaced, not the file it points to.
    ///
    /// # Errors
    ///
    /// Returns an error if the old file cannot be removed or the new one cannot be created.
    pub fn overwrite(path: impl AsRef<Path>, inner: T) -> io::Result<Self> {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Self::create(path, inner),
        }
    }

    /// Adds a secret, in addition to those that are recognized by their place or form.
    #[must_use]
    pub fn secret(mut self, word: impl AsRef<str>) -> Self {
        self.redactor.add(word.as_ref());
        self
    }

    /// Sets the maximum size of a body that is kept, in bytes. A longer response is recorded as `cut`, a longer
    /// request without its body. Default: 8 MiB.
    #[must_use]
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }

    /// Waits until every exchange that has ended has been written to the file, and returns their number. Blocks the
    /// thread while it waits.
    ///
    /// # Errors
    ///
    /// Returns an error if writing failed, or if exchanges were lost because the disk was too slow.
    pub fn flush(&self) -> io::Result<u64> {
        self.writer.flush()
    }
}

impl<T: Transport> Transport for RecordingTransport<T> {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        let finished = SecretExchange {
            turn: self.turns.fetch_add(1, Ordering::Relaxed) + 1,
            request: request.clone(),
            redactor: self.redactor.clone(),
            max_body_bytes: self.max_body_bytes,
            response: None,
            body: Vec::new(),
            failure: None,
            ended: ExchangeEnd::Dropped,
        };
        let (writer, begun) = (Arc::clone(&self.writer), Instant::now());
        let mut ongoing = ExchangeRecorder { writer, finished: Some(finished), begun };
        let response = self.inner.send(request);
        Box::pin(async move {
            match response.await {
                Ok(mut response) => {
                    ongoing.head(&response);
                    response.body = Box::pin(RecordedBody { inner: response.body, ongoing });
                    Ok(response)
                }
                Err(error) => {
                    ongoing.broken(&error);
                    Err(error)
                }
            }
        })
    }
}

/// A body that is recorded while it is read.
struct RecordedBody {
    inner: BodyStream,
    ongoing: ExchangeRecorder,
}

impl Stream for RecordedBody {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(self.inner.as_mut().poll_next(context));
        match &item {
            Some(Ok(bytes)) => self.ongoing.record_read(bytes),
            Some(Err(error)) => self.ongoing.broken(error),
            None => self.ongoing.end(ExchangeEnd::Whole),
        }
        Poll::Ready(item)
    }
}

/// An exchange in progress. It is passed to the writer when this value is dropped, at the latest.
struct ExchangeRecorder {
    writer: Arc<RecordingWriter>,
    finished: Option<SecretExchange>,
    begun: Instant,
}

impl ExchangeRecorder {
    /// Records the head of the response.
    fn head(&mut self, response: &HttpResponse) {
        let head = self.begun.elapsed();
        if let Some(finished) = &mut self.finished {
            let headers = response.headers.clone();
            let status = response.status;
            let response =
                RecordedResponse { status, head, headers, ..RecordedResponse::default() };
            finished.response = Some(response);
        }
    }

    /// Records a read of the body.
    fn record_read(&mut self, bytes: &Bytes) {
        let at = self.begun.elapsed();
        if let Some(SecretExchange { response: Some(response), body, max_body_bytes, .. }) =
            &mut self.finished
        {
            let kept = bytes.get(..max_body_bytes.saturating_sub(body.len())).unwrap_or(bytes);
            response.cut |= kept.len() < bytes.len();
            // An empty read is not recorded.
            if !kept.is_empty() {
                body.extend_from_slice(kept);
                response.reads.push(BodyRead::new(kept.len(), at));
            }
        }
    }

    /// Records a failure, before or inside the response.
    fn broken(&mut self, error: &TransportError) {
        if let Some(finished) = &mut self.finished
            && finished.response.is_none()
        {
            finished.failure = Some(Failure::from_error(error));
        }
        self.end(ExchangeEnd::Broken);
    }

    fn end(&mut self, ended: ExchangeEnd) {
        if let Some(finished) = self.finished.take() {
            self.writer.push(SecretExchange { ended, ..finished });
        }
    }
}

impl Drop for ExchangeRecorder {
    fn drop(&mut self) {
        self.end(ExchangeEnd::Dropped);
    }
}
