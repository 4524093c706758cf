//! One request to the provider, whose response is read as it arrives.

use std::{collections::VecDeque, ops::ControlFlow, pin::pin};

use futures_util::StreamExt as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::{
    brackets::OpenBrackets,
    calls::{CallEvent, RunningCalls},
    event_emitter::EventEmitter,
    spans,
};
use crate::{search::CallUnwrapper, support::elapsed_ms};
use forgeline_core::{StreamEnd, StreamMachine};
use forgeline_llm::{ChunkStream, ProviderError, ProviderFuture, StreamChunk, private::is_notice};
use forgeline_types::{
    AgentEvent, ApiCallEndEvent, Completion, Envelope, FinishReason, Part, TokenUsageEvent,
    ToolCall, ToolCallContentEvent, ToolCallEndEvent, private::PartPlace,
};

/// The result of reading further.
pub(super) enum ReadOutcome {
    /// A call is complete, and the answer continues.
    Sealed(Box<SealedCall>),
    /// News about a call that runs in the meantime.
    News(CallEvent),
    /// The answer has ended.
    Ended(StreamEnd),
    /// The provider refused the request before sending anything; no error event was emitted.
    Refused(ProviderError),
}

/// The step after an item of the stream.
enum ItemStep {
    GoesOn,
    Ends,
    Refused(ProviderError),
}

/// A call that is complete while its answer continues.
pub(super) struct SealedCall {
    pub(super) call: ToolCall,
    /// The number of bytes of the call that arrived.
    pub(super) body_bytes: usize,
    /// The parts of the answer after the previous call, up to and including this one.
    pub(super) parts: Vec<Part>,
    /// The events that would close what is open after the end of the call.
    pub(super) ends: Vec<AgentEvent>,
}

/// The end of a request to the provider.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct ProviderResponse {
    /// As much of the answer as arrived, including the error that ended it. Boxed: a future holds
    /// each place that a value is moved through.
    pub(super) completion: Box<Completion>,
    /// The number of bytes of each call that arrived, by its index.
    pub(super) body_bytes: Vec<usize>,
    /// `true` when the provider accepted the request: it sent something, even if only an empty answer.
    pub(super) answered: bool,
    /// `true` if all calls of the answer were in its text.
    pub(super) calls_in_text: bool,
}

/// The reaction to a provider that fails before sending anything.
pub(super) enum OnRefusal {
    /// Fails the request.
    Fail,
    /// Fails the request with this earlier error, which is the one to report.
    FailWith(ProviderError),
    /// Hands back an error that matches this predicate.
    HandBack(fn(&ProviderError) -> bool),
}

/// A request to the provider in progress.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct AnswerReader {
    source: ResponseSource,
    on_refusal: OnRefusal,
    /// `true` once the provider has sent something.
    answered: bool,
    /// `true` once a call has come that is not text.
    has_native_calls: bool,
    /// Boxed, since it is taken out at the end.
    machine: Box<StreamMachine>,
    /// Turns calls made through another tool into calls of found tools; `None` where there are none.
    unwrapping: Option<Box<CallUnwrapper>>,
    queue: ChunkQueue,
    started: Instant,
    first_token_ms: Option<u64>,
    /// Ends the answer when cancelled.
    cancel: CancellationToken,
    /// `None` when calls are not handed out before the end.
    given: Option<Box<EarlyCalls>>,
    pub(super) span: Span,
}

/// The calls handed out before the end of the answer.
#[derive(Default)]
struct EarlyCalls {
    /// The number of calls.
    calls: usize,
    /// The place after the last call.
    place: PartPlace,
    brackets: OpenBrackets,
}

/// The response of the provider.
enum ResponseSource {
    Opening(ProviderFuture<ChunkStream>),
    Open(ChunkStream),
}

impl ResponseSource {
    /// Returns the next item. Cancel safe.
    async fn next(&mut self) -> Option<Result<StreamChunk, ProviderError>> {
        if let Self::Opening(opening) = self {
            match opening.await {
                Ok(stream) => *self = Self::Open(stream),
                Err(error) => return Some(Err(error)),
            }
        }
        if let Self::Open(stream) = self { stream.next().await } else { None }
    }
}

impl AnswerReader {
    /// Returns the reading of an answer; with `early`, calls are handed out as they are completed.
    pub(super) fn new(
        opening: ProviderFuture<ChunkStream>,
        machine: Box<StreamMachine>,
        on_refusal: OnRefusal,
        early: bool,
        cancel: CancellationToken,
        span: Span,
    ) -> Self {
        Self {
            source: ResponseSource::Opening(opening),
            on_refusal,
            answered: false,
            has_native_calls: false,
            machine,
            unwrapping: None,
            queue: ChunkQueue::default(),
            started: Instant::now(),
            first_token_ms: None,
            cancel,
            given: early.then(Default::default),
            span,
        }
    }

    /// Turns calls made through `call_found_tool` into calls of the tools that they name.
    pub(super) fn unwrapping(mut self, is_on: bool) -> Self {
        self.unwrapping = is_on.then(Box::default);
        self
    }

    /// Reads further, emits the events of the answer, and returns when there is something to do.
    ///
    /// A failure or a cancellation closes what is open; what had arrived is kept.
    pub(super) async fn next(
        &mut self,
        emitter: &mut EventEmitter,
        mut calls: Option<&mut RunningCalls<'_>>,
    ) -> ReadOutcome {
        let cancel = self.cancel.clone();
        let mut cancelled = pin!(cancel.cancelled());
        let hears = AwaitedEvents::awaited(self.given.is_some(), calls.as_deref());
        if hears != AwaitedEvents::Nothing {
            // A stream that always has more items would leave no time for calls on a single-threaded runtime.
            tokio::task::yield_now().await;
        }
        loop {
            // The outcome of a call is reported after the end of the call, and before what follows in the answer.
            loop {
                if let Some(sealed) = self.next_sealed() {
                    return ReadOutcome::Sealed(sealed);
                }
                if !self.forward(emitter).await {
                    break;
                }
            }
            if let Some(recorder) = emitter.recorder() {
                recorder.chunk_emitted();
            }
            let item = tokio::select! {
                biased;
                () = &mut cancelled => return ReadOutcome::Ended(self.stopped(emitter)),
                Some(news) = heard(&mut calls, hears), if hears != AwaitedEvents::Nothing => return ReadOutcome::News(news),
                item = self.source.next() => item,
            };
            if let (Some(recorder), Some(Ok(_))) = (emitter.recorder(), &item) {
                recorder.chunk_received();
            }
            match self.take(item) {
                ItemStep::GoesOn => {}
                ItemStep::Ends => {
                    while self.forward(emitter).await {}
                    return ReadOutcome::Ended(StreamEnd::Done);
                }
                ItemStep::Refused(error) => return ReadOutcome::Refused(error),
            }
        }
    }

    /// Takes an item of the stream, or its end, and adds its events to the queue. Values used here
    /// take no space in the future.
    fn take(&mut self, item: Option<Result<StreamChunk, ProviderError>>) -> ItemStep {
        match item {
            Some(Ok(mut chunk)) => {
                self.answered |= !chunk.is_notice();
                self.has_native_calls |= !chunk.tool_calls.is_empty();
                if let Some(unwrapping) = &mut self.unwrapping {
                    unwrapping.chunk(&mut chunk);
                }
                if self.read(chunk).is_break() { ItemStep::Ends } else { ItemStep::GoesOn }
            }
            Some(Err(error)) => self.fail(error),
            None if matches!(self.on_refusal, OnRefusal::FailWith(_)) && !self.answered => {
                self.fail(ProviderError::ended_early(0))
            }
            None => {
                self.release();
                ItemStep::Ends
            }
        }
    }

    /// Adds the events of a chunk to the queue. The only caller of the machine, which is compiled once for each.
    fn read(&mut self, chunk: StreamChunk) -> ControlFlow<()> {
        let queue = &mut self.queue;
        self.machine.chunk(chunk, &mut |event| queue.push(event))
    }

    /// Releases held parts of calls, before the answer ends otherwise than by its last chunk.
    fn release(&mut self) {
        let Some(unwrapping) = self.unwrapping.as_mut().filter(|it| it.is_waiting()) else {
            return;
        };
        let mut rest = StreamChunk::default();
        unwrapping.finish(&mut rest);
        // An answer that exceeds a limit here ends in any case.
        let _ended = self.read(rest);
    }

    /// Returns the next complete call, where calls are handed out as they are completed.
    fn next_sealed(&mut self) -> Option<Box<SealedCall>> {
        let EarlyCalls { calls, place, brackets } = &mut **self.given.as_mut()?;
        if self.queue.has_end_of(*calls) {
            return None;
        }
        let (call, parts) = self.machine.builder().sealed(*calls, place)?;
        let body_bytes = self.queue.body_bytes.get(*calls).copied().unwrap_or_default();
        *calls += 1;
        Some(Box::new(SealedCall { call, body_bytes, parts, ends: brackets.ends() }))
    }

    /// Closes what is open: with the error of a run that was stopped, or as interrupted by the user.
    fn stopped(&mut self, emitter: &EventEmitter) -> StreamEnd {
        if !emitter.cancel().is_cancelled() {
            self.interrupt();
            return StreamEnd::Done;
        }
        self.release();
        let (error, queue) = (emitter.stop_reason().error(), &mut self.queue);
        self.machine.stop(error, &mut |event| queue.push(event));
        StreamEnd::Done
    }

    /// Ends the answer as interrupted.
    pub(super) fn interrupt(&mut self) {
        self.release();
        // The end is the last chunk in any case.
        let _ended = self.read(StreamChunk::end(FinishReason::Interrupted));
    }

    fn fail(&mut self, error: ProviderError) -> ItemStep {
        let error = match std::mem::replace(&mut self.on_refusal, OnRefusal::Fail) {
            OnRefusal::HandBack(is_one) if !self.answered && is_one(&error) => {
                return ItemStep::Refused(error);
            }
            OnRefusal::FailWith(first) if !self.answered => first,
            OnRefusal::HandBack(_) | OnRefusal::FailWith(_) | OnRefusal::Fail => error,
        };
        self.release();
        let queue = &mut self.queue;
        self.machine.fail_with(error, &mut |event| queue.push(event));
        ItemStep::Ends
    }

    /// Emits the events of the queue up to the end of a call, where calls are handed out as they
    /// are completed; returns `false` when all events have been emitted.
    async fn forward(&mut self, emitter: &mut EventEmitter) -> bool {
        while !self.queue.events.is_empty() {
            let (ends_call, waiting) = self.send_one(emitter);
            if let Some(waiting) = waiting {
                emitter.wait(waiting).await;
            }
            if ends_call {
                return true;
            }
        }
        false
    }

    /// Emits the first event of the queue; returns `true` for the end of a call that may be handed
    /// out, and the event if it has to wait for a slot.
    fn send_one(&mut self, emitter: &mut EventEmitter) -> (bool, Option<Box<Envelope>>) {
        let Some(event) = self.queue.events.pop_front() else { return (false, None) };
        if self.first_token_ms.is_none() && !is_notice(&event) {
            self.first_token_ms = Some(elapsed_ms(self.started));
            if let Some(recorder) = emitter.recorder() {
                recorder.first_token(self.started.elapsed());
            }
        }
        let mut ends_call = false;
        if let Some(given) = &mut self.given {
            given.brackets.note(&event);
            ends_call = matches!(event, AgentEvent::ToolCallEnd(_));
        }
        (ends_call, emitter.send(event))
    }

    /// Closes the provider's stream and what is open of the answer; returns the response and its last events.
    pub(super) fn end(self, end: StreamEnd) -> (ProviderResponse, VecDeque<AgentEvent>) {
        let Self { source, answered, machine, mut queue, started, first_token_ms, span, .. } = self;
        let has_native_calls = self.has_native_calls;
        drop(source);
        let completion = Box::new(machine.finish(end, &mut |event| queue.push(event)));
        spans::answered(&span, &completion, first_token_ms);
        if let Some(usage) = completion.usage {
            queue.push(AgentEvent::TokenUsage(TokenUsageEvent::new(usage)));
        }
        let duration_ms = elapsed_ms(started);
        queue.push(AgentEvent::ApiCallEnd(
            ApiCallEndEvent::new(duration_ms).first_token_ms(first_token_ms),
        ));
        let calls_in_text = !has_native_calls && !completion.tool_calls.is_empty();
        let body_bytes = queue.body_bytes;
        let response = ProviderResponse { completion, body_bytes, answered, calls_in_text };
        (response, queue.events)
    }

    /// Returns the event that closes a refused request.
    pub(super) fn refused(&self) -> AgentEvent {
        AgentEvent::ApiCallEnd(ApiCallEndEvent::new(elapsed_ms(self.started)))
    }
}

/// The news that is awaited while an answer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AwaitedEvents {
    Nothing,
    /// News about the calls that run beside the answer.
    Calls,
    /// The same, and events of background agents.
    Agents,
}

impl AwaitedEvents {
    fn awaited(gives_early: bool, calls: Option<&RunningCalls<'_>>) -> Self {
        match calls {
            Some(calls) if calls.has_background() => Self::Agents,
            Some(_) if gives_early => Self::Calls,
            _ => Self::Nothing,
        }
    }
}

/// Waits for news; returns `None` when no call is running.
async fn heard(
    calls: &mut Option<&mut RunningCalls<'_>>,
    hears: AwaitedEvents,
) -> Option<CallEvent> {
    let calls = calls.as_mut()?;
    if hears == AwaitedEvents::Agents && !calls.is_running() {
        return Some(calls.heard_beside().await);
    }
    calls.heard().await
}

/// The events of one chunk; empty between chunks, except for what follows the end of a call that was handed out.
#[derive(Default)]
struct ChunkQueue {
    events: VecDeque<AgentEvent>,
    /// The number of bytes of each call that arrived, by its index.
    body_bytes: Vec<usize>,
}

impl ChunkQueue {
    /// Returns `true` while the end of this call has not been emitted.
    fn has_end_of(&self, call: usize) -> bool {
        let is_end = |event: &AgentEvent| matches!(event, AgentEvent::ToolCallEnd(ToolCallEndEvent { index, .. }) if *index as usize == call);
        self.events.iter().any(is_end)
    }

    fn push(&mut self, event: AgentEvent) {
        if let AgentEvent::ToolCallContent(ToolCallContentEvent { index, content, .. }) = &event {
            let at = *index as usize;
            self.body_bytes.resize(self.body_bytes.len().max(at + 1), 0);
            if let Some(bytes) = self.body_bytes.get_mut(at) {
                *bytes += content.len();
            }
        }
        self.events.push_back(event);
    }
}
