//! One call to the provider, read to its end.

use std::{collections::VecDeque, pin::pin};

use futures_util::StreamExt as _;
use tokio::time::Instant;

use crate::{
    agent::{
        call_mode::Mode,
        clock::elapsed_ms,
        core::{StreamEnd, StreamMachine},
        emitter::Emitter,
    },
    llm::{ChunkStream, Provider, ProviderError, Request, StreamChunk, is_notice},
    types::{AgentEvent, Completion, FinishReason, Keep},
};

/// The end of a call to the provider.
pub(super) enum Response {
    /// An answer, or as much of it as arrived.
    Ended {
        completion: Box<Completion>,
        /// The bytes of each call that arrived, by its index.
        body_bytes: Vec<usize>,
        /// `true` when the provider accepted the request: it sent something, if only an empty answer.
        answered: bool,
    },
    /// The provider refused the request before it sent anything; no error event was emitted.
    Refused(ProviderError),
}

/// The reaction to a provider that fails before it sent anything.
pub(super) enum OnRefusal {
    /// The call has failed.
    Fail,
    /// The call has failed with this earlier error, which is the one to report.
    FailWith(ProviderError),
    /// An error of this kind is handed back.
    HandBack(fn(&ProviderError) -> bool),
}

/// Sends what `request` makes, emits the events of the answer and returns the answer. A request that is
/// made where it is sent takes no place in the future.
///
/// A failure and a cancellation end what is open and are in [`Completion::error`]; what had arrived
/// is kept. The provider's stream is closed when this returns.
pub(super) async fn read(
    provider: &dyn Provider,
    request: impl FnOnce() -> Request,
    mode: &Mode,
    on_refusal: OnRefusal,
    emitter: &mut Emitter,
) -> Response {
    let info = provider.info();
    let (name, model) = (info.provider.clone(), info.model.clone());
    emitter.emit(AgentEvent::ApiCallStart { provider: name, model }).await;
    let keep = if mode.native { Keep::Parts } else { Keep::Verbatim };
    let mut reading = Reading {
        emitter,
        on_refusal,
        answered: false,
        machine: Box::new(StreamMachine::keeping(&mode.options, keep)),
        queue: Queue::default(),
        started: Instant::now(),
        first_token_ms: None,
    };
    match reading.read(provider.stream_completion(request())).await {
        Ok(end) => reading.finish(end).await,
        Err(error) => reading.refused(error).await,
    }
}

struct Reading<'a> {
    emitter: &'a mut Emitter,
    on_refusal: OnRefusal,
    /// `true` once the provider sent something.
    answered: bool,
    /// In a box: a future holds each of the places that a value moves through.
    machine: Box<StreamMachine>,
    queue: Queue,
    started: Instant,
    first_token_ms: Option<u64>,
}

impl Reading<'_> {
    /// Reads to the end; an error is a refusal that is handed back.
    async fn read(
        &mut self,
        opening: impl Future<Output = Result<ChunkStream, ProviderError>>,
    ) -> Result<StreamEnd, ProviderError> {
        let cancel = self.emitter.begin_answer();
        let mut cancelled = pin!(cancel.cancelled());
        let opened = tokio::select! {
            biased;
            () = &mut cancelled => return Ok(self.stopped()),
            opened = opening => opened,
        };
        let mut stream = match opened {
            Ok(stream) => stream,
            Err(error) => return self.fail(error).await,
        };
        loop {
            let item = tokio::select! {
                biased;
                () = &mut cancelled => return Ok(self.stopped()),
                item = stream.next() => item,
            };
            match item {
                Some(Ok(chunk)) => {
                    self.answered |= !chunk.is_notice();
                    let queue = &mut self.queue;
                    let flow = self.machine.chunk(chunk, &mut |event| queue.push(event));
                    self.forward().await;
                    if flow.is_break() {
                        return Ok(StreamEnd::Done);
                    }
                }
                Some(Err(error)) => return self.fail(error).await,
                None if matches!(self.on_refusal, OnRefusal::FailWith(_)) && !self.answered => {
                    return self.fail(ProviderError::EndedEarly { received: 0 }).await;
                }
                None => return Ok(StreamEnd::Done),
            }
        }
    }

    /// Ends what is open: with the error of a run that was stopped, or as the user interrupted it.
    fn stopped(&mut self) -> StreamEnd {
        if !self.emitter.cancel().is_cancelled() {
            let (end, queue) = (StreamChunk::end(FinishReason::Interrupted), &mut self.queue);
            // The end is the last chunk in any case.
            let _ended = self.machine.chunk(end, &mut |event| queue.push(event));
            return StreamEnd::Done;
        }
        let (error, queue) = (self.emitter.stop_reason().error(), &mut self.queue);
        self.machine.stop(error, &mut |event| queue.push(event));
        StreamEnd::Done
    }

    async fn fail(&mut self, error: ProviderError) -> Result<StreamEnd, ProviderError> {
        let error = match std::mem::replace(&mut self.on_refusal, OnRefusal::Fail) {
            OnRefusal::HandBack(is_one) if !self.answered && is_one(&error) => return Err(error),
            OnRefusal::FailWith(first) if !self.answered => first,
            OnRefusal::HandBack(_) | OnRefusal::FailWith(_) | OnRefusal::Fail => error,
        };
        let queue = &mut self.queue;
        self.machine.fail(&error, &mut |event| queue.push(event));
        self.forward().await;
        Ok(StreamEnd::Done)
    }

    async fn refused(self, error: ProviderError) -> Response {
        let duration_ms = elapsed_ms(self.started);
        let event = AgentEvent::ApiCallEnd { duration_ms, first_token_ms: None };
        self.emitter.emit(event).await;
        Response::Refused(error)
    }

    async fn forward(&mut self) {
        while let Some(event) = self.queue.events.pop_front() {
            if self.first_token_ms.is_none() && !is_notice(&event) {
                self.first_token_ms = Some(elapsed_ms(self.started));
            }
            self.emitter.emit(event).await;
        }
    }

    async fn finish(self, end: StreamEnd) -> Response {
        let Self { emitter, answered, machine, mut queue, started, first_token_ms, .. } = self;
        let completion = machine.finish(end, &mut |event| queue.push(event));
        for event in queue.events {
            emitter.emit(event).await;
        }
        if let Some(usage) = completion.usage {
            emitter.emit(AgentEvent::TokenUsage { usage }).await;
        }
        let duration_ms = elapsed_ms(started);
        emitter.emit(AgentEvent::ApiCallEnd { duration_ms, first_token_ms }).await;
        let body_bytes = queue.body_bytes;
        Response::Ended { completion: Box::new(completion), body_bytes, answered }
    }
}

/// Events of one chunk; empty between chunks.
#[derive(Default)]
struct Queue {
    events: VecDeque<AgentEvent>,
    /// The bytes of each call that arrived, by its index.
    body_bytes: Vec<usize>,
}

impl Queue {
    fn push(&mut self, event: AgentEvent) {
        if let AgentEvent::ToolCallContent { index, content, .. } = &event {
            let at = *index as usize;
            self.body_bytes.resize(self.body_bytes.len().max(at + 1), 0);
            if let Some(bytes) = self.body_bytes.get_mut(at) {
                *bytes += content.len();
            }
        }
        self.events.push_back(event);
    }
}
