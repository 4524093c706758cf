//! The transport that replays a recording.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::time::Instant;

use super::{ChunkSizes, Pace, compare, source::ReplayBody};
use crate::record::{Exchange, Recording};
use forgeline_llm::{
    private::SecretRedactor,
    transport::{HttpRequest, HttpResponse, Transport, TransportError, TransportFuture},
};
use forgeline_types::{Text, debug_fields};

/// A transport that replays a recording below a real provider: the first request receives the first
/// recorded response.
///
/// Each request must match the recorded one: the same method, the same path, and a body with the same
/// value in every field. Any other is rejected with [`TransportError::Refused`], which names the turn
/// and the JSON pointer; a provider turns it into
/// [`ProviderError::Config`](forgeline_llm::ProviderError::Config). The host, headers and query are not
/// compared. Clones share their position in the recording.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     llm::{Provider, Request, openai::OpenAi},
///     testing::{record::Recording, replay::ReplayTransport},
/// };
///
/// let recording: Recording = r#"{"forgeline_recording":1,"recorded":"2026-11-22T09:00:00Z"}
/// {"turn":1,"request":{"method":"POST","url":"http://h/v1/chat/completions","headers":{},"body":{"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hello"}]}},"response":{"status":200,"head_ms":0,"headers":{},"body":"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n","reads":[[40,1],[31,2]]},"ended":"whole"}
/// "#.parse()?;
/// let replay = || OpenAi::builder().base_url("http://h").transport(ReplayTransport::new(recording.clone())).build();
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let answer = replay()?.complete(Request::prompt("Hello")).await?;
/// assert_eq!(answer.text, "Hi");
///
/// let error = replay()?.complete(Request::prompt("Hey")).await.unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the recording is stale: in turn 1, /messages/0/content is \"Hey\", not \"Hello\"; record it anew",
/// );
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ReplayTransport {
    recording: Recording,
    next: Arc<AtomicUsize>,
    sizes: Option<ChunkSizes>,
    pace: Pace,
    ignored: Vec<String>,
    redactor: SecretRedactor,
    lenient: bool,
}

impl ReplayTransport {
    /// Creates a transport that replays `recording` with its recorded reads, without pauses.
    #[must_use]
    pub fn new(recording: Recording) -> Self {
        Self {
            recording,
            next: Arc::default(),
            sizes: None,
            pace: Pace::None,
            ignored: Vec::new(),
            redactor: SecretRedactor::default(),
            lenient: false,
        }
    }

    /// Sets the pieces in which bodies arrive. Default: the recorded reads.
    #[must_use]
    pub fn chunks(mut self, sizes: ChunkSizes) -> Self {
        self.sizes = Some(sizes);
        self
    }

    /// Sets the times at which the pieces arrive. Default: no pauses.
    #[must_use]
    pub fn pace(mut self, pace: impl Into<Pace>) -> Self {
        self.pace = pace.into();
        self
    }

    /// Excludes a field of the request from the comparison, named by a JSON pointer such as `/seed`, in which a
    /// `*` matches any single step, as in `/messages/*/id`.
    #[must_use]
    pub fn ignore(mut self, pointer: impl Into<String>) -> Self {
        self.ignored.push(pointer.into());
        self
    }

    /// Adds a secret that the recorder was also given: requests are compared without it.
    #[must_use]
    pub fn secret(mut self, word: impl AsRef<str>) -> Self {
        self.redactor.add(word.as_ref());
        self
    }

    /// Disables the comparison.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    fn next(&self, request: &HttpRequest) -> Result<&Exchange, TransportError> {
        let exchanges = self.recording.exchanges();
        let call = self.next.fetch_add(1, Ordering::Relaxed);
        let refused = |message| TransportError::refused(message);
        let exchange =
            exchanges.get(call).ok_or_else(|| refused(used_up(exchanges.len(), call + 1)))?;
        if !self.lenient {
            compare::compare(exchange, request, &self.redactor, &self.ignored).map_err(refused)?;
        }
        cut(exchange).map_or(Ok(exchange), |message| Err(refused(message)))
    }
}

/// Formats the message for a recording that has fewer answers than requests.
pub(super) fn used_up(answers: usize, call: usize) -> Text {
    Text::from(format!("the recording has {answers} answers, and this is call {call}; record more"))
}

/// Returns the message for a response that was not kept completely.
pub(super) fn cut(exchange: &Exchange) -> Option<Text> {
    let is_cut = exchange.response.as_ref().is_some_and(|response| response.cut);
    is_cut.then(|| {
        Text::from(format!(
            "the response of turn {} was too long to be kept; record it anew with a larger max_body_bytes",
            exchange.turn,
        ))
    })
}

/// Replays the outcome of one request.
pub(super) async fn answer(
    exchange: Exchange,
    sizes: Option<ChunkSizes>,
    pace: Pace,
) -> Result<HttpResponse, TransportError> {
    let start = Instant::now();
    let Some(response) = exchange.response else {
        let dropped = || {
            TransportError::broken(
                "the caller stopped waiting for the response when it was recorded",
            )
        };
        return Err(exchange.failure.map_or_else(dropped, |failure| failure.to_error()));
    };
    pace.head(start, response.head).await;
    let source = ReplayBody::recorded(&response, exchange.ended, sizes, pace, start);
    let head = HttpResponse::new(response.status, source.stream());
    let headers = response.headers.into_iter();
    Ok(headers.fold(head, |head, (name, value)| head.with_header(name, value)))
}

debug_fields! { ReplayTransport, transport:
    exchanges = transport.recording.exchanges().len(),
    next = transport.next,
    chunks = transport.sizes,
    pace = transport.pace,
}

impl Transport for ReplayTransport {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        let exchange = self.next(&request).cloned();
        let (sizes, pace) = (self.sizes.clone(), self.pace);
        Box::pin(async move { answer(exchange?, sizes, pace).await })
    }
}
