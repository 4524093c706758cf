//! The demo model as a provider.

use std::time::Duration;

use futures_core::future::BoxFuture;

use crate::{
    llm::{ChunkStream, Provider, ProviderError, Request, StreamChunk},
    types::{Capabilities, FinishReason, ModelInfo},
};

/// The demo model: it is no language model, and says so.
///
/// It reads the prompt and the list of tools, thinks aloud, writes tool calls into its text as a
/// small local model would, and answers from their results. The same conversation always gets the
/// same answer, without network or key.
#[derive(Debug, Clone)]
pub struct DemoProvider {
    info: ModelInfo,
    pace: Option<Duration>,
}

impl DemoProvider {
    /// A demo model that answers as fast as it is read.
    #[must_use]
    pub fn new() -> Self {
        let mut capabilities = Capabilities::default();
        capabilities.streaming = true;
        capabilities.thinking = true;
        Self { info: ModelInfo::new("demo", "demo").capabilities(capabilities), pace: None }
    }

    /// Waits so long between two chunks, for people to watch. Default: not at all.
    #[must_use]
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pace = Some(pace);
        self
    }
}

impl Default for DemoProvider {
    fn default() -> Self {
        Self::new()
    }
}

impl Provider for DemoProvider {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream_completion(
        &self,
        _request: Request,
    ) -> BoxFuture<'static, Result<ChunkStream, ProviderError>> {
        let chunks = [Ok(StreamChunk::message("42")), Ok(StreamChunk::end(FinishReason::Stop))];
        let stream: ChunkStream = Box::pin(futures_util::stream::iter(chunks));
        Box::pin(std::future::ready(Ok(stream)))
    }
}
