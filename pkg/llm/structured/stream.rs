//! The answer as it arrives.

use std::marker::PhantomData;

use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;

use super::{AnswerJson, Structured};
use crate::{
    ChunkStream, ContentType, ProviderError, StreamChunk, StructuredMethod,
    answer::collect::ChunkCollector,
};
use forgeline_types::{PartialValue, debug_fields};

/// An answer bound to a schema, as it arrives: the partial value can be read at any time.
///
/// # Cancel safety
///
/// If an [`advance`](Self::advance) future is dropped before it completes, nothing is lost. Dropping the stream closes its connection.
pub struct StructuredStream<T> {
    chunks: ChunkStream,
    collector: ChunkCollector,
    json: AnswerJson,
    method: StructuredMethod,
    /// `true` if the answer itself may have a top-level member `input`.
    may_have_input: bool,
    value: PhantomData<fn() -> T>,
}

debug_fields!(<T> StructuredStream, stream: method = stream.method, json = stream.json);

impl<T: DeserializeOwned> StructuredStream<T> {
    pub(super) fn new(chunks: ChunkStream, method: StructuredMethod, may_have_input: bool) -> Self {
        Self {
            chunks,
            collector: ChunkCollector::default(),
            json: AnswerJson::default(),
            method,
            may_have_input,
            value: PhantomData,
        }
    }

    /// Waits for more of the value; returns `false` at the end of the answer.
    ///
    /// # Errors
    ///
    /// The errors of the stream.
    pub async fn advance(&mut self) -> Result<bool, ProviderError> {
        while let Some(chunk) = self.chunks.next().await {
            let chunk = chunk?;
            let grew = self.take(&chunk);
            self.collector.chunk(chunk);
            if let Some(error) = self.collector.over_limit() {
                return Err(error);
            }
            if grew {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the value so far, which is always readable: strings, arrays and objects that are still open contain
    /// what has arrived. Returns `None` before the first byte. Takes constant time.
    #[must_use]
    pub fn partial(&self) -> Option<PartialValue<'_>> {
        self.json.value()
    }

    /// Returns the method that binds the answer to the schema.
    #[must_use]
    pub fn method(&self) -> StructuredMethod {
        self.method
    }

    /// Waits for the rest and reads the complete answer.
    ///
    /// # Errors
    ///
    /// The errors of the stream; [`ProviderError::InvalidAnswer`] if the answer is empty, truncated, refused, not
    /// JSON, or not a `T`.
    pub async fn finish(mut self) -> Result<Structured<T>, ProviderError> {
        loop {
            match self.advance().await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Err(self.collector.abort(error)),
            }
        }
        Structured::from_completion(self.collector.finish()?, self.method, self.may_have_input)
    }

    /// Adds the part of the value in a chunk; returns `true` if there was any.
    fn take(&mut self, chunk: &StreamChunk) -> bool {
        if self.method == StructuredMethod::ForcedTool {
            let mut deltas = chunk.tool_calls.iter().filter(|delta| delta.index == 0).peekable();
            if deltas.peek().is_some() {
                deltas.for_each(|delta| {
                    self.json.call(&delta.arguments);
                });
                return true;
            }
        }
        chunk.content_type == ContentType::Message && self.json.text(&chunk.content)
    }
}
