//! The provider that replays answers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::time::Instant;

use super::{
    ChunkSizes, Pace, said,
    source::ReplayBody,
    transport::{answer, cut, used_up},
};
use crate::record::{Exchange, Recording};
use forgeline_llm::{
    ChunkStream, ContentTyper, Protocol, Provider, ProviderError, ProviderFuture, Request,
    Timeouts,
    private::{BodyChunks, BodyDecoding, status_error},
    sse::SseLimits,
    transport::BodyStream,
};
use forgeline_parser::{ThinkingDialect, ToolDialect};
use forgeline_types::{ModelInfo, debug_fields, setters};

/// Maximum size of an error body that is read.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// A provider that answers with recorded responses, one per call, through the real decoders.
///
/// For a [`recording`](Self::recording), statuses, reads and failures are replayed too, and a request with
/// a text that the recorded one lacks is rejected, since the answer no longer matches. Omitted texts, other
/// settings and other tools are not detected: a [`ReplayTransport`](super::ReplayTransport) below the
/// real provider compares those. Each attempt of a retried request is a separate answer.
///
/// With plain bodies, requests are not compared. Clones share their position in the recording.
///
/// # Examples
///
/// ```
/// use forgeline::{llm::{Provider, Request}, testing::replay::{ChunkSizes, ReplayProvider}};
///
/// let body = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
/// let provider = ReplayProvider::new([body]).chunks(ChunkSizes::Bytes(7));
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let answer = provider.complete(Request::prompt("Hello")).await?;
/// assert_eq!(answer.text, "Hi");
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct ReplayProvider {
    answers: AnswerSource,
    next: Arc<AtomicUsize>,
    info: ModelInfo,
    protocol: Option<Protocol>,
    thinking: ThinkingDialect,
    tools: ToolDialect,
    sizes: Option<ChunkSizes>,
    pace: Pace,
    lenient: bool,
}

/// The source of the answers.
#[derive(Clone)]
enum AnswerSource {
    Bodies(Arc<[Bytes]>),
    Exchanges(Arc<[Exchange]>),
}

impl ReplayProvider {
    /// Creates a provider that answers with `bodies`, in order.
    #[must_use]
    pub fn new<B: Into<Bytes>>(bodies: impl IntoIterator<Item = B>) -> Self {
        Self::with_answers(AnswerSource::Bodies(bodies.into_iter().map(Into::into).collect()))
    }

    /// Creates a provider that answers as recorded, in order, with the
    /// recorded reads but without pauses. Other requests, such as for a model list, are skipped.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "as the transport of a recording takes it")]
    pub fn recording(recording: Recording) -> Self {
        let is_answer = |exchange: &&Exchange| exchange.request.method == "POST";
        let exchanges = recording.exchanges().iter().filter(is_answer).cloned();
        Self::with_answers(AnswerSource::Exchanges(exchanges.collect()))
    }

    fn with_answers(answers: AnswerSource) -> Self {
        Self {
            answers,
            next: Arc::default(),
            info: ModelInfo::new("replay", "recorded"),
            protocol: None,
            thinking: ThinkingDialect::AUTO,
            tools: ToolDialect::AUTO,
            sizes: None,
            pace: Pace::None,
            lenient: false,
        }
    }

    setters! {
        ReplayProvider:
        /// Sets the wire protocol. Default: that of the recorded URL, or else guessed from each body.
        protocol(some Protocol),
        /// Sets the dialect of reasoning in text. Default: recognized by its opening tag.
        thinking(ThinkingDialect),
        /// Sets the times at which the pieces arrive; a duration is the pause between two pieces. Default: no
        /// pauses.
        pace(into Pace),
        /// Sets the value of [`Provider::info`].
        info(ModelInfo),
    }

    /// Sets the dialect of tool calls in text. Default: recognized by their opening markers.
    #[must_use]
    pub fn tools_dialect(mut self, dialect: ToolDialect) -> Self {
        self.tools = dialect;
        self
    }

    /// Sets the pieces in which a body arrives. Default: the recorded reads, or else one piece.
    #[must_use]
    pub fn chunks(mut self, sizes: ChunkSizes) -> Self {
        self.sizes = Some(sizes);
        self
    }

    /// Disables the comparison of requests.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// Decodes a body in the protocol that was set, or else in `protocol`.
    fn chunks_of(&self, body: BodyStream, protocol: Protocol) -> ChunkStream {
        let typer = ContentTyper::new(&self.thinking, &self.tools);
        let decoder = self.protocol.unwrap_or(protocol).decoder();
        let decoding = BodyDecoding::new(decoder, typer, SseLimits::default().max_response_bytes);
        Box::pin(BodyChunks::new(body, decoding, Timeouts::NONE, Instant::now(), None))
    }

    async fn exchange(self, exchange: Exchange) -> Result<ChunkStream, ProviderError> {
        let protocol = exchange.protocol();
        let played = answer(exchange, self.sizes.clone(), self.pace).await;
        let mut response = played.map_err(|error| error.into_provider_error(0))?;
        if (200..300).contains(&response.status) {
            return Ok(self.chunks_of(response.body, protocol));
        }
        let mut body = Vec::new();
        while let Some(Ok(read)) = response.body.next().await {
            body.extend_from_slice(&read);
        }
        body.truncate(MAX_ERROR_BYTES);
        let body = String::from_utf8_lossy(&body);
        Err(ProviderError::Status(Box::new(status_error(&response, &body, &str::to_owned))))
    }
}

debug_fields! { ReplayProvider, provider:
    answers = provider.answers.len(),
    chunks = provider.sizes,
    pace = provider.pace,
}

impl Provider for ReplayProvider {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        let call = self.next.fetch_add(1, Ordering::Relaxed);
        let this = self.clone();
        let config = |message| ProviderError::config(message);
        let used_up = move |answers: usize| config(used_up(answers, call + 1));
        Box::pin(async move {
            match &this.answers {
                AnswerSource::Bodies(bodies) => {
                    let body = bodies.get(call).ok_or_else(|| used_up(bodies.len()))?;
                    let sizes = this.sizes.clone().unwrap_or_default();
                    let source = ReplayBody::new(body.clone(), sizes, this.pace);
                    Ok(this.chunks_of(source.stream(), Protocol::guess(body)))
                }
                AnswerSource::Exchanges(exchanges) => {
                    let exchange =
                        exchanges.get(call).ok_or_else(|| used_up(exchanges.len()))?.clone();
                    if !this.lenient {
                        said::compare(&exchange, &request).map_err(config)?;
                    }
                    if let Some(message) = cut(&exchange) {
                        return Err(config(message));
                    }
                    this.exchange(exchange).await
                }
            }
        })
    }
}

impl AnswerSource {
    fn len(&self) -> usize {
        match self {
            Self::Bodies(bodies) => bodies.len(),
            Self::Exchanges(exchanges) => exchanges.len(),
        }
    }
}
