//! One call to the provider, read to its end.

use std::{collections::VecDeque, pin::pin};

use futures_util::StreamExt as _;
use tokio::time::Instant;

use super::{
    answer::AnswerParts,
    core::{StreamEnd, StreamMachine, StreamOptions},
    emitter::Emitter,
};
use crate::{
    llm::{ChunkStream, Provider, ProviderError, Request},
    types::{AgentEvent, Completion},
};

/// Sends `request`, emits the events of the answer and gives the answer.
///
/// A failure and a cancellation end what is open and stand in [`Completion::error`]; what had
/// arrived is kept. The provider's stream is closed when this returns.
pub(super) async fn read(
    provider: &dyn Provider,
    request: Request,
    options: &StreamOptions,
    emitter: &mut Emitter,
) -> (Completion, AnswerParts) {
    let info = provider.info();
    let (name, model) = (info.provider.clone(), info.model.clone());
    emitter.emit(AgentEvent::ApiCallStart { provider: name, model }).await;
    let mut reading = Reading {
        emitter,
        machine: StreamMachine::new(options),
        queue: VecDeque::new(),
        parts: AnswerParts::default(),
        started: Instant::now(),
        first_token_ms: None,
    };
    let end = reading.read(provider.stream_completion(request)).await;
    reading.finish(end).await
}

struct Reading<'a> {
    emitter: &'a mut Emitter,
    machine: StreamMachine,
    /// Events of one chunk; empty between chunks.
    queue: VecDeque<AgentEvent>,
    parts: AnswerParts,
    started: Instant,
    first_token_ms: Option<u64>,
}

impl Reading<'_> {
    async fn read(
        &mut self,
        opening: impl Future<Output = Result<ChunkStream, ProviderError>>,
    ) -> StreamEnd {
        let cancel = self.emitter.cancel().clone();
        let mut cancelled = pin!(cancel.cancelled());
        let opened = tokio::select! {
            biased;
            () = &mut cancelled => return StreamEnd::Cancelled,
            opened = opening => opened,
        };
        let mut stream = match opened {
            Ok(stream) => stream,
            Err(error) => {
                self.fail(&error).await;
                return StreamEnd::Done;
            }
        };
        loop {
            let item = tokio::select! {
                biased;
                () = &mut cancelled => return StreamEnd::Cancelled,
                item = stream.next() => item,
            };
            match item {
                Some(Ok(chunk)) => {
                    let queue = &mut self.queue;
                    let flow = self.machine.chunk(chunk, &mut |event| queue.push_back(event));
                    self.forward().await;
                    if flow.is_break() {
                        return StreamEnd::Done;
                    }
                }
                Some(Err(error)) => {
                    self.fail(&error).await;
                    return StreamEnd::Done;
                }
                None => return StreamEnd::Done,
            }
        }
    }

    async fn fail(&mut self, error: &ProviderError) {
        let queue = &mut self.queue;
        self.machine.fail(error, &mut |event| queue.push_back(event));
        self.forward().await;
    }

    async fn forward(&mut self) {
        while let Some(event) = self.queue.pop_front() {
            if self.first_token_ms.is_none() {
                self.first_token_ms = Some(elapsed_ms(self.started));
            }
            self.parts.push(&event);
            self.emitter.emit(event).await;
        }
    }

    async fn finish(self, end: StreamEnd) -> (Completion, AnswerParts) {
        let Self { emitter, machine, mut queue, mut parts, started, first_token_ms } = self;
        let completion = machine.finish(end, &mut |event| queue.push_back(event));
        for event in queue {
            parts.push(&event);
            emitter.emit(event).await;
        }
        if let Some(usage) = completion.usage {
            emitter.emit(AgentEvent::TokenUsage { usage }).await;
        }
        let duration_ms = elapsed_ms(started);
        emitter.emit(AgentEvent::ApiCallEnd { duration_ms, first_token_ms }).await;
        (completion, parts)
    }
}

pub(super) fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
