//! The provider of recorded answers.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_core::future::BoxFuture;
use tokio::time::Instant;

use super::{ChunkSizes, source::Source};
use crate::{
    llm::{
        BodyDecoder, ChunkStream, ContentTyper, Progress, Protocol, Provider, ProviderError,
        Request, StreamChunk, Timeouts,
        body::BodyChunks,
        parser::{ThinkingDialect, ToolDialect},
    },
    types::{ModelInfo, Text},
};

/// Answers with recorded response bodies, one a call, through the real decode path.
///
/// The request is not looked at. Clones share their place in the recording.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{Provider, Request, replay::{ChunkSizes, ReplayProvider}};
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
    bodies: Arc<[Bytes]>,
    next: Arc<AtomicUsize>,
    info: ModelInfo,
    protocol: Option<Protocol>,
    thinking: ThinkingDialect,
    tools: ToolDialect,
    sizes: ChunkSizes,
    pace: Duration,
}

impl ReplayProvider {
    /// Answers with these bodies, the first call with the first.
    #[must_use]
    pub fn new<B: Into<Bytes>>(bodies: impl IntoIterator<Item = B>) -> Self {
        Self {
            bodies: bodies.into_iter().map(Into::into).collect(),
            next: Arc::default(),
            info: ModelInfo::new("replay", "recorded"),
            protocol: None,
            thinking: ThinkingDialect::AUTO,
            tools: ToolDialect::AUTO,
            sizes: ChunkSizes::Whole,
            pace: Duration::ZERO,
        }
    }

    /// Sets the wire protocol. Default: guessed from each body.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = Some(protocol);
        self
    }

    /// Sets how reasoning is written in text. Default: recognised by its opener.
    #[must_use]
    pub fn thinking(mut self, dialect: ThinkingDialect) -> Self {
        self.thinking = dialect;
        self
    }

    /// Sets how tool calls are written in text. Default: recognised by their opener.
    #[must_use]
    pub fn tools_dialect(mut self, dialect: ToolDialect) -> Self {
        self.tools = dialect;
        self
    }

    /// Sets the pieces in which a body arrives. Default: whole.
    #[must_use]
    pub fn chunks(mut self, sizes: ChunkSizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// Sets the time between two pieces. Default: none.
    #[must_use]
    pub fn pace(mut self, time: Duration) -> Self {
        self.pace = time;
        self
    }

    /// Sets what [`Provider::info`] says.
    #[must_use]
    pub fn info(mut self, info: ModelInfo) -> Self {
        self.info = info;
        self
    }

    fn answer(&self) -> Result<ChunkStream, ProviderError> {
        let call = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(body) = self.bodies.get(call) else {
            return Err(ProviderError::Config {
                message: Text::from(format!(
                    "the recording has {} answers and this is call {}; record more",
                    self.bodies.len(),
                    call + 1,
                )),
            });
        };
        let protocol = match self.protocol {
            Some(protocol) => protocol,
            None => Protocol::guess(body),
        };
        let source = Source::new(body.clone(), self.sizes.clone(), self.pace);
        let typer = ContentTyper::new(&self.thinking, &self.tools);
        let decoder = Boxed(protocol.decoder());
        Ok(Box::pin(BodyChunks::new(source, decoder, typer, Timeouts::NONE, Instant::now(), None)))
    }
}

impl fmt::Debug for ReplayProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ReplayProvider")
            .field("bodies", &self.bodies.len())
            .field("chunks", &self.sizes)
            .field("pace", &self.pace)
            .finish_non_exhaustive()
    }
}

impl Provider for ReplayProvider {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream_completion(
        &self,
        _request: Request,
    ) -> BoxFuture<'static, Result<ChunkStream, ProviderError>> {
        let answer = self.answer();
        Box::pin(async move { answer })
    }
}

/// A decoder whose protocol is known at run time only.
struct Boxed(Box<dyn BodyDecoder>);

impl BodyDecoder for Boxed {
    fn push(
        &mut self,
        bytes: &[u8],
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError> {
        self.0.push(bytes, emit)
    }

    fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError> {
        self.0.finish(emit)
    }

    fn progress(&self) -> Progress {
        self.0.progress()
    }
}
