//! Collection of a stream of chunks into a whole answer, without looking for calls in its text.

use std::pin::pin;

use futures_core::Stream;
use futures_util::StreamExt as _;

use super::{AnswerAssembler, TextSection};
use crate::{ContentType, ProviderError, StreamChunk};
use forgeline_types::{Completion, private::KeptContent};

/// Collects the chunks of one response into a completion.
///
/// # Errors
///
/// The error that the stream ends with, [`ProviderError::EndedEarly`] if it ends without its protocol's
/// terminal marker, and [`ProviderError::Decode`] for a call whose arguments are longer than 4 MiB. If part
/// of an answer had arrived, the error is the source of a [`ProviderError::Aborted`] that contains that
/// part.
///
/// # Examples
///
/// ```
/// use forgeline::{llm::{ProviderError, StreamChunk, collect}, types::FinishReason};
///
/// # futures_util::FutureExt::now_or_never(async {
/// let end = StreamChunk::end(FinishReason::Stop);
/// let chunks = [StreamChunk::message("Hel"), StreamChunk::message("lo"), end];
/// let answer = collect(futures_util::stream::iter(chunks.map(Ok))).await?;
/// assert_eq!(answer.into_message().text(), "Hello");
/// # Ok::<(), ProviderError>(())
/// # }).unwrap().unwrap();
/// ```
pub async fn collect(
    stream: impl Stream<Item = Result<StreamChunk, ProviderError>>,
) -> Result<Completion, ProviderError> {
    let mut stream = pin!(stream);
    let mut collector = ChunkCollector::default();
    while let Some(item) = stream.next().await {
        match item {
            Ok(chunk) => collector.chunk(chunk),
            Err(error) => return Err(collector.abort(error)),
        }
        if let Some(error) = collector.over_limit() {
            return Err(collector.abort(error));
        }
    }
    collector.finish()
}

/// Collects chunks one by one.
pub(crate) struct ChunkCollector(AnswerAssembler);

impl Default for ChunkCollector {
    fn default() -> Self {
        Self(AnswerAssembler::new(false, KeptContent::Parts))
    }
}

impl ChunkCollector {
    /// Adds one chunk.
    pub(crate) fn chunk(&mut self, chunk: StreamChunk) {
        let emit = &mut |_| {};
        self.0.facts(&chunk);
        let section = match chunk.content_type {
            ContentType::Thinking => TextSection::Thinking,
            ContentType::Message => TextSection::Message { refusal: false },
            ContentType::Refusal => TextSection::Message { refusal: true },
        };
        self.0.text(section, &chunk.content, emit);
        self.0.after_content(chunk, emit);
    }

    /// Returns the error of a call that is too long, after which nothing more should be read.
    pub(crate) fn over_limit(&self) -> Option<ProviderError> {
        self.0.over_limit()
    }

    /// Returns the completed answer.
    pub(crate) fn finish(mut self) -> Result<Completion, ProviderError> {
        let Completion { text, thinking, complete, .. } = self.0.completion();
        if !*complete {
            let received = (text.len() + thinking.len()) as u64;
            return Err(self.abort(ProviderError::EndedEarly { received }));
        }
        self.0.end(self.0.is_cut_by_length(), &mut |_| {});
        Ok(self.0.into_completion())
    }

    /// Returns the error of an answer that broke off, with the part that had arrived.
    pub(crate) fn abort(mut self, error: ProviderError) -> ProviderError {
        if !self.0.has_content() {
            return error;
        }
        self.0.end(true, &mut |_| {});
        let mut partial = Box::new(self.0.into_completion());
        partial.error = Some(error.to_agent_error());
        partial.error_raw = error.raw().cloned();
        ProviderError::Aborted { partial, source: Box::new(error) }
    }
}
