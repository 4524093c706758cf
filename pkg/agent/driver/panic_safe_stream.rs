//! A provider whose panics are turned into errors, so that the run closes its events and its reader continues.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use futures_util::FutureExt as _;
use tokio::time::timeout;

use crate::support::text;
use forgeline_llm::{
    AnswerSchema, ChunkStream, Provider, ProviderError, ProviderFuture, Request, StreamChunk,
};

/// Maximum time to wait for the window of a model.
const WINDOW_PATIENCE: Duration = Duration::from_secs(10);

/// Sends a request; a panic of the provider, now or later, becomes an error.
pub(super) fn stream(provider: &dyn Provider, request: Request) -> ProviderFuture<ChunkStream> {
    caught(|| provider.stream_completion(request))
}

/// Sends a request for an answer that matches a schema; a panic of the provider, now or later, becomes an error.
pub(super) fn answer(
    provider: &dyn Provider,
    request: Request,
    schema: AnswerSchema,
) -> ProviderFuture<ChunkStream> {
    caught(|| {
        let opening = provider.stream_answer(request, schema);
        Box::pin(async move { Ok(opening.await?.0) })
    })
}

/// Asks for the window of the provider's model; `None` if it fails, panics or takes too long.
pub(super) async fn window(provider: &dyn Provider) -> Option<u64> {
    let asking = catch_unwind(AssertUnwindSafe(|| provider.context_window())).ok()?;
    let asked = timeout(WINDOW_PATIENCE, AssertUnwindSafe(asking).catch_unwind()).await;
    asked.ok()?.ok()?.ok()?
}

fn caught(open: impl FnOnce() -> ProviderFuture<ChunkStream>) -> ProviderFuture<ChunkStream> {
    let opening = catch_unwind(AssertUnwindSafe(open));
    let opening = match opening {
        Ok(opening) => AssertUnwindSafe(opening).catch_unwind(),
        Err(panic) => return Box::pin(std::future::ready(Err(panicked(&*panic)))),
    };
    Box::pin(async move {
        let opened = opening.await.map_err(|panic| panicked(&*panic))??;
        Ok(Box::pin(PanicSafeStream(Some(opened))) as ChunkStream)
    })
}

/// A stream that ends when it panics.
struct PanicSafeStream(Option<ChunkStream>);

impl Stream for PanicSafeStream {
    type Item = Result<StreamChunk, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(stream) = &mut self.0 else { return Poll::Ready(None) };
        let polled = catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll_next(context)));
        polled.unwrap_or_else(|panic| {
            self.0 = None;
            Poll::Ready(Some(Err(panicked(&*panic))))
        })
    }
}

fn panicked(panic: &(dyn Any + Send)) -> ProviderError {
    ProviderError::panicked(text(panic))
}
