//! A model that takes its time.

use std::time::Duration;

use forgeline::{
    llm::{ChunkStream, Provider, ProviderFuture, Request},
    testing::ScriptedProvider,
    types::ModelInfo,
};
use futures_util::StreamExt as _;
use tokio::time::sleep;

/// Sends each chunk of an answer a while after the one before.
pub(crate) struct Paced {
    pub(crate) inner: ScriptedProvider,
    pub(crate) pause: fn(&Request) -> Duration,
}

impl Provider for Paced {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        let pause = (self.pause)(&request);
        let answer = self.inner.stream_completion(request);
        Box::pin(async move {
            let chunks = answer.await?;
            if pause.is_zero() {
                return Ok(chunks);
            }
            let chunks: ChunkStream = Box::pin(chunks.then(move |chunk| async move {
                sleep(pause).await;
                chunk
            }));
            Ok(chunks)
        })
    }
}
