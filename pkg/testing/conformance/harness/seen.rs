//! The content of a stream, independent of the way in which it was split.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::Instant;

use forgeline_llm::{
    ChunkStream, ContentType, Provider, ProviderError, Request, StreamChunk, collect,
};
use forgeline_types::{AgentEvent, Completion, FinishReason, ProviderItem, Text, UsageInfo};

/// One request and its outcome.
#[derive(Debug, Default)]
pub(in crate::conformance) struct RequestRun {
    /// Each chunk and its time.
    pub(in crate::conformance) chunks: Vec<(Duration, StreamChunk)>,
    pub(in crate::conformance) error: Option<ProviderError>,
    /// The time of the end.
    pub(in crate::conformance) end: Duration,
}

/// The joined chunks of a stream.
#[derive(Debug, Default, Clone, PartialEq)]
pub(in crate::conformance) struct SeenAnswer {
    /// Content and signatures in order; adjacent pieces of one kind are joined.
    pub(in crate::conformance) pieces: Vec<SeenPiece>,
    pub(in crate::conformance) calls: Vec<SeenCall>,
    pub(in crate::conformance) items: Vec<ProviderItem>,
    pub(in crate::conformance) retries: usize,
    pub(in crate::conformance) finished: bool,
    pub(in crate::conformance) finish_reason: Option<FinishReason>,
    pub(in crate::conformance) finish_reason_raw: Option<Text>,
    pub(in crate::conformance) usage: UsageInfo,
    pub(in crate::conformance) usage_raw: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::conformance) enum SeenPiece {
    Content(ContentType, String),
    Call(u32),
    Signature(String),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::conformance) struct SeenCall {
    pub(in crate::conformance) index: u32,
    pub(in crate::conformance) id: Option<String>,
    pub(in crate::conformance) name: String,
    pub(in crate::conformance) arguments: String,
}

impl RequestRun {
    /// Sends `request` and reads the response until its end.
    pub(in crate::conformance) async fn send(
        provider: &(impl Provider + ?Sized),
        request: Request,
    ) -> Self {
        let start = Instant::now();
        let mut run = Self::default();
        match provider.stream_completion(request).await {
            Ok(stream) => run.read_stream(stream, start).await,
            Err(error) => run.error = Some(error),
        }
        run.end = start.elapsed();
        run
    }

    async fn read_stream(&mut self, mut stream: ChunkStream, start: Instant) {
        while let Some(item) = stream.next().await {
            match item {
                Ok(chunk) => self.chunks.push((start.elapsed(), chunk)),
                Err(error) => self.error = Some(error),
            }
        }
    }

    /// Joins the chunks that arrived until `time`.
    pub(in crate::conformance) fn until(&self, time: Duration) -> SeenAnswer {
        let mut seen = SeenAnswer::default();
        for (_, chunk) in self.chunks.iter().filter(|(at, _)| *at <= time) {
            seen.chunk(chunk);
        }
        seen
    }

    pub(in crate::conformance) fn seen(&self) -> SeenAnswer {
        self.until(Duration::MAX)
    }

    /// Collects the chunks into an answer.
    pub(in crate::conformance) async fn completion(&self) -> Result<Completion, ProviderError> {
        let chunks: Vec<_> = self.chunks.iter().map(|(_, chunk)| Ok(chunk.clone())).collect();
        collect(futures_util::stream::iter(chunks)).await
    }

    /// Formats the error for a report.
    pub(in crate::conformance) fn error_line(&self) -> String {
        self.error.as_ref().map_or_else(|| "no error".to_owned(), |error| format!("{error:?}"))
    }
}

impl SeenAnswer {
    fn chunk(&mut self, chunk: &StreamChunk) {
        if !chunk.content.is_empty() {
            match self.pieces.last_mut() {
                Some(SeenPiece::Content(kind, text)) if *kind == chunk.content_type => {
                    text.push_str(&chunk.content);
                }
                _ => self.pieces.push(SeenPiece::Content(
                    chunk.content_type,
                    chunk.content.as_str().to_owned(),
                )),
            }
        }
        for delta in &chunk.tool_calls {
            let known = self.calls.iter().position(|call| call.index == delta.index);
            let at = known.unwrap_or_else(|| {
                self.pieces.push(SeenPiece::Call(delta.index));
                self.calls.push(SeenCall { index: delta.index, ..SeenCall::default() });
                self.calls.len() - 1
            });
            let Some(call) = self.calls.get_mut(at) else { continue };
            call.arguments.push_str(&delta.arguments);
            if let Some(signature) = &delta.signature {
                self.pieces.push(SeenPiece::Signature(signature.proof.as_str().to_owned()));
            }
            if let Some(id) = &delta.id {
                call.id = Some(id.as_str().to_owned());
            }
            if let Some(name) = &delta.name {
                name.as_str().clone_into(&mut call.name);
            }
        }
        self.finished |= chunk.finished;
        if let Some(reason) = &chunk.finish_reason {
            self.finish_reason = Some(reason.clone());
        }
        if let Some(usage) = &chunk.usage {
            self.usage.merge(usage);
        }
        let Some(details) = chunk.details.as_deref() else { return };
        if let Some(signature) = &details.signature {
            self.pieces.push(SeenPiece::Signature(signature.proof.as_str().to_owned()));
        }
        if let Some(word) = &details.finish_reason_raw {
            self.finish_reason_raw = Some(word.clone());
        }
        if let Some(raw) = &details.usage_raw {
            self.usage_raw = Some(raw.as_str().to_owned());
        }
        for event in &details.events {
            if let AgentEvent::ProviderItem(item) = event {
                self.items.push(item.clone());
            }
            self.retries += usize::from(matches!(event, AgentEvent::Retry(_)));
        }
    }

    /// Returns all content of one kind.
    pub(in crate::conformance) fn content(&self, kind: ContentType) -> String {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            SeenPiece::Content(of, text) if *of == kind => Some(text.as_str()),
            SeenPiece::Content(..) | SeenPiece::Call(_) | SeenPiece::Signature(_) => None,
        });
        texts.collect()
    }

    pub(in crate::conformance) fn text(&self) -> String {
        self.content(ContentType::Message)
    }
}
