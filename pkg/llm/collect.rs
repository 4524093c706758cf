//! A whole answer from a stream of chunks, without looking for calls in its text.

use std::{collections::HashMap, pin::pin};

use futures_core::Stream;
use futures_util::StreamExt as _;

use super::{
    ContentType, ProviderError, StreamChunk, ToolCallDelta,
    native_calls::{NativeArguments, NativeParts},
};
use crate::types::{Completion, FinishReason, ToolCall};

/// Joins the chunks of one response.
///
/// # Errors
///
/// The error that the stream ends with, and [`ProviderError::EndedEarly`] when it ends without its
/// protocol's terminal marker; both as the source of [`ProviderError::Aborted`], which has what had
/// arrived, when something had.
pub async fn collect(
    stream: impl Stream<Item = Result<StreamChunk, ProviderError>>,
) -> Result<Completion, ProviderError> {
    let mut stream = pin!(stream);
    let mut collector = Collector::default();
    while let Some(item) = stream.next().await {
        match item {
            Ok(chunk) => collector.chunk(chunk),
            Err(error) => return Err(collector.abort(error)),
        }
    }
    collector.finish()
}

/// An answer that is being put together.
#[derive(Default)]
pub(super) struct Collector {
    completion: Completion,
    arguments: Vec<NativeArguments>,
    /// Where each call stands, by its number.
    places: HashMap<u32, usize>,
    parts: NativeParts,
}

impl Collector {
    pub(super) fn chunk(&mut self, mut chunk: StreamChunk) {
        let completion = &mut self.completion;
        match chunk.content_type {
            ContentType::Message => completion.text.push_str(&chunk.content),
            ContentType::Thinking => completion.thinking.push_str(&chunk.content),
            ContentType::Refusal => completion.refusal.push_str(&chunk.content),
        }
        chunk.note_facts(completion);
        self.parts.content(&chunk);
        for delta in std::mem::take(&mut chunk.tool_calls) {
            self.delta(delta);
        }
        self.parts.details(&chunk);
    }

    fn delta(&mut self, delta: ToolCallDelta) {
        let calls = &mut self.completion.tool_calls;
        let at = *self.places.entry(delta.index).or_insert_with(|| {
            calls.push(ToolCall::pending(delta.index, format!("call_{}", delta.index)));
            self.arguments.push(NativeArguments::default());
            self.parts.call();
            calls.len() - 1
        });
        let (Some(call), Some(arguments)) = (calls.get_mut(at), self.arguments.get_mut(at)) else {
            return;
        };
        call.id = delta.id.unwrap_or_else(|| call.id.clone());
        call.name = delta.name.unwrap_or_else(|| call.name.clone());
        call.arguments_raw.push_str(&delta.arguments);
        arguments.push(&delta.arguments);
    }

    pub(super) fn finish(mut self) -> Result<Completion, ProviderError> {
        let received = self.completion.text.len() + self.completion.thinking.len();
        if !self.completion.complete {
            return Err(self.abort(ProviderError::EndedEarly { received: received as u64 }));
        }
        let is_cut = self.completion.finish_reason == Some(FinishReason::Length);
        self.settle(is_cut);
        Ok(self.completion)
    }

    /// The error of an answer that broke off, with what had arrived of it.
    pub(super) fn abort(mut self, error: ProviderError) -> ProviderError {
        let Completion { text, thinking, refusal, tool_calls, .. } = &self.completion;
        let nothing = text.is_empty() && thinking.is_empty() && refusal.is_empty();
        if nothing && tool_calls.is_empty() {
            return error;
        }
        self.settle(true);
        self.completion.error = Some(error.to_agent_error());
        self.completion.error_raw = error.raw().cloned();
        let partial = Box::new(self.completion);
        ProviderError::Aborted { partial, source: Box::new(error) }
    }

    /// Nothing more comes of the calls.
    fn settle(&mut self, is_cut: bool) {
        let arguments = std::mem::take(&mut self.arguments);
        for (call, arguments) in self.completion.tool_calls.iter_mut().zip(arguments) {
            call.outcome = arguments.outcome(is_cut);
            if call.is_complete() {
                call.arguments = arguments.value(&call.arguments_raw);
            }
        }
        let parts = std::mem::take(&mut self.parts);
        self.completion.parts = parts.finish(&mut self.completion.tool_calls);
    }
}
