//! One call to the provider, read to its end.

use std::{collections::VecDeque, pin::pin};

use futures_util::StreamExt as _;
use tokio::time::Instant;

use super::{
    answer::AnswerParts,
    core::{StreamEnd, StreamMachine},
    emitter::Emitter,
    plan::{Plan, is_refusal},
};
use crate::{
    llm::{ChunkStream, Provider, ProviderError, Request, is_notice},
    types::{AgentEvent, Completion},
};

/// What a call to the provider came to.
pub(super) enum Response {
    /// An answer, or what there is of it.
    Ended {
        completion: Box<Completion>,
        parts: AnswerParts,
        /// Whether the provider took the request: it sent something, be it an empty answer.
        answered: bool,
    },
    /// The provider refused the request before it sent anything; no error event was emitted.
    Refused(ProviderError),
}

/// What to do when the provider fails before it sent anything.
pub(super) enum OnRefusal {
    /// The call has failed.
    Fail,
    /// The call has failed, and this is why: what happened before is what the user should hear of.
    FailWith(ProviderError),
    /// The error is handed back if it may be about the native tools.
    HandBack,
}

/// Sends `request`, emits the events of the answer and gives the answer.
///
/// A failure and a cancellation end what is open and stand in [`Completion::error`]; what had
/// arrived is kept. The provider's stream is closed when this returns.
pub(super) async fn read(
    provider: &dyn Provider,
    request: Request,
    plan: &Plan,
    on_refusal: OnRefusal,
    emitter: &mut Emitter,
) -> Response {
    let info = provider.info();
    let (name, model) = (info.provider.clone(), info.model.clone());
    emitter.emit(AgentEvent::ApiCallStart { provider: name, model }).await;
    let mut reading = Reading {
        emitter,
        on_refusal,
        answered: false,
        machine: StreamMachine::new(&plan.options),
        queue: VecDeque::new(),
        parts: AnswerParts::new(plan.native),
        started: Instant::now(),
        first_token_ms: None,
    };
    match reading.read(provider.stream_completion(request)).await {
        Ok(end) => reading.finish(end).await,
        Err(error) => reading.refused(error).await,
    }
}

struct Reading<'a> {
    emitter: &'a mut Emitter,
    on_refusal: OnRefusal,
    /// Whether the provider sent something.
    answered: bool,
    machine: StreamMachine,
    /// Events of one chunk; empty between chunks.
    queue: VecDeque<AgentEvent>,
    parts: AnswerParts,
    started: Instant,
    first_token_ms: Option<u64>,
}

impl Reading<'_> {
    /// Reads to the end; `Err` hands a refusal back.
    async fn read(
        &mut self,
        opening: impl Future<Output = Result<ChunkStream, ProviderError>>,
    ) -> Result<StreamEnd, ProviderError> {
        let cancel = self.emitter.cancel().clone();
        let mut cancelled = pin!(cancel.cancelled());
        let opened = tokio::select! {
            biased;
            () = &mut cancelled => return Ok(StreamEnd::Cancelled),
            opened = opening => opened,
        };
        let mut stream = match opened {
            Ok(stream) => stream,
            Err(error) => return self.fail(error).await,
        };
        loop {
            let item = tokio::select! {
                biased;
                () = &mut cancelled => return Ok(StreamEnd::Cancelled),
                item = stream.next() => item,
            };
            match item {
                Some(Ok(chunk)) => {
                    self.answered |= !chunk.is_notice();
                    self.parts.chunk(&chunk);
                    let queue = &mut self.queue;
                    let flow = self.machine.chunk(chunk, &mut |event| queue.push_back(event));
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

    async fn fail(&mut self, error: ProviderError) -> Result<StreamEnd, ProviderError> {
        let error = match std::mem::replace(&mut self.on_refusal, OnRefusal::Fail) {
            OnRefusal::HandBack if !self.answered && is_refusal(&error) => return Err(error),
            OnRefusal::FailWith(first) if !self.answered => first,
            OnRefusal::HandBack | OnRefusal::FailWith(_) | OnRefusal::Fail => error,
        };
        let queue = &mut self.queue;
        self.machine.fail(&error, &mut |event| queue.push_back(event));
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
        while let Some(event) = self.queue.pop_front() {
            let is_notice = is_notice(&event);
            if self.first_token_ms.is_none() && !is_notice {
                self.first_token_ms = Some(elapsed_ms(self.started));
            }
            self.parts.push(&event);
            self.emitter.emit(event).await;
        }
    }

    async fn finish(self, end: StreamEnd) -> Response {
        let Self { emitter, machine, mut queue, mut parts, started, first_token_ms, .. } = self;
        let answered = self.answered;
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
        Response::Ended { completion: Box::new(completion), parts, answered }
    }
}

pub(super) fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
