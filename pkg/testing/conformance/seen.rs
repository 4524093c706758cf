//! The content of a stream, independent of the way in which it was split.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::Instant;

use crate::{
    llm::{ChunkStream, ContentType, Provider, ProviderError, Request, StreamChunk, collect},
    types::{AgentEvent, Completion, FinishReason, ProviderItem, Text, UsageInfo},
};

/// One request and its outcome.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Each chunk and its time.
    pub(super) chunks: Vec<(Duration, StreamChunk)>,
    pub(super) error: Option<ProviderError>,
    /// The time of the end.
    pub(super) end: Duration,
}

/// The joined chunks of a stream.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Seen {
    /// Content and signatures in order; adjacent pieces of one kind are joined.
    pub(super) pieces: Vec<Piece>,
    pub(super) calls: Vec<Call>,
    pub(super) items: Vec<ProviderItem>,
    pub(super) retries: usize,
    pub(super) finished: bool,
    pub(super) finish_reason: Option<FinishReason>,
    pub(super) finish_reason_raw: Option<Text>,
    pub(super) usage: UsageInfo,
    pub(super) usage_raw: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Content(ContentType, String),
    Call(u32),
    Signature(String),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) index: u32,
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Run {
    /// Sends `request` and reads the response until its end.
    pub(super) async fn of(provider: &(impl Provider + ?Sized), request: Request) -> Self {
        let start = Instant::now();
        let mut run = Self::default();
        match provider.stream_completion(request).await {
            Ok(stream) => run.read(stream, start).await,
            Err(error) => run.error = Some(error),
        }
        run.end = start.elapsed();
        run
    }

    async fn read(&mut self, mut stream: ChunkStream, start: Instant) {
        while let Some(item) = stream.next().await {
            match item {
                Ok(chunk) => self.chunks.push((start.elapsed(), chunk)),
                Err(error) => self.error = Some(error),
            }
        }
    }

    /// Joins the chunks that arrived until `time`.
    pub(super) fn until(&self, time: Duration) -> Seen {
        let mut seen = Seen::default();
        for (_, chunk) in self.chunks.iter().filter(|(at, _)| *at <= time) {
            seen.chunk(chunk);
        }
        seen
    }

    pub(super) fn seen(&self) -> Seen {
        self.until(Duration::MAX)
    }

    /// Collects the chunks into an answer.
    pub(super) async fn completion(&self) -> Result<Completion, ProviderError> {
        let chunks: Vec<_> = self.chunks.iter().map(|(_, chunk)| Ok(chunk.clone())).collect();
        collect(futures_util::stream::iter(chunks)).await
    }

    /// Formats the error for a report.
    pub(super) fn error_line(&self) -> String {
        self.error.as_ref().map_or_else(|| "no error".to_owned(), |error| format!("{error:?}"))
    }
}

impl Seen {
    fn chunk(&mut self, chunk: &StreamChunk) {
        if !chunk.content.is_empty() {
            match self.pieces.last_mut() {
                Some(Piece::Content(kind, text)) if *kind == chunk.content_type => {
                    text.push_str(&chunk.content);
                }
                _ => self
                    .pieces
                    .push(Piece::Content(chunk.content_type, chunk.content.as_str().to_owned())),
            }
        }
        for delta in &chunk.tool_calls {
            let known = self.calls.iter().position(|call| call.index == delta.index);
            let at = known.unwrap_or_else(|| {
                self.pieces.push(Piece::Call(delta.index));
                self.calls.push(Call { index: delta.index, ..Call::default() });
                self.calls.len() - 1
            });
            let Some(call) = self.calls.get_mut(at) else { continue };
            call.arguments.push_str(&delta.arguments);
            if let Some(signature) = &delta.signature {
                self.pieces.push(Piece::Signature(signature.proof.as_str().to_owned()));
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
            self.pieces.push(Piece::Signature(signature.proof.as_str().to_owned()));
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
            self.retries += usize::from(matches!(event, AgentEvent::Retry { .. }));
        }
    }

    /// Returns all content of one kind.
    pub(super) fn content(&self, kind: ContentType) -> String {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Content(of, text) if *of == kind => Some(text.as_str()),
            Piece::Content(..) | Piece::Call(_) | Piece::Signature(_) => None,
        });
        texts.collect()
    }

    pub(super) fn text(&self) -> String {
        self.content(ContentType::Message)
    }
}
