//! Limits of requests: how many at once, how many a second, and a pause for all when the server asks one to wait.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use futures_util::StreamExt as _;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until, timeout},
};

use crate::{
    AnswerSchema, ChunkStream, Health, Provider, ProviderError, ProviderFuture, Request,
    SchemaRules, StreamChunk, StructuredMethod, TimeoutKind,
};
use forgeline_parser::ThinkingDialect;
use forgeline_types::{AgentEvent, Completion, ErrorCode, ModelInfo, RetryEvent, debug_fields};

/// Maximum time that a request waits for its turn, by default.
const MAX_WAIT: Duration = Duration::from_mins(10);

/// A provider whose requests wait for their turn, in order to keep to limits at once and a second.
///
/// Clones share the limits. When the server refuses a request because of its rate and says how long to wait, all requests
/// wait that long; the refused one fails, unless the provider retries by itself, as those over HTTP do. A request counts until its
/// stream has ended or is dropped.
///
/// # Errors
///
/// A request that has waited for 10 minutes, or for [`max_wait`](Self::max_wait), fails with [`TimeoutKind::Turn`].
///
/// # Cancel safety
///
/// A request whose future is dropped while it waits has not been sent, and frees its place.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use forgeline::{
///     llm::{Limited, Request},
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
/// use futures_util::StreamExt as _;
///
/// let provider = ScriptedProvider::from_fn(|_: &Request| ScriptedTurn::new().text("Done."));
/// let limited = Limited::new(provider).concurrent(20).per_second(200);
/// let prompts = (0..500).map(|at| Request::prompt(format!("Task {at}")));
/// let mut done = limited.complete_all(prompts);
/// let mut answers = vec![String::new(); 500];
/// while let Some((at, answer)) = done.next().await {
///     answers[at] = answer.map_or_else(|error| error.to_string(), |answer| answer.text);
/// }
/// assert!(answers.iter().all(|answer| answer == "Done."));
/// # }
/// ```
#[derive(Clone)]
pub struct Limited {
    provider: Arc<dyn Provider>,
    gate: Arc<RequestGate>,
}

/// The limits, and the requests that wait for them.
#[derive(Debug)]
struct RequestGate {
    concurrent: Option<usize>,
    places: Option<Arc<Semaphore>>,
    /// The time between the beginnings of two requests.
    interval: Duration,
    max_wait: Duration,
    /// The time at which the next request may begin.
    next: Mutex<Option<Instant>>,
}

impl Limited {
    /// Wraps a provider, without limits yet.
    #[must_use]
    pub fn new(provider: impl Provider + 'static) -> Self {
        Self {
            provider: Arc::new(provider),
            gate: Arc::new(RequestGate::new(None, Duration::ZERO, MAX_WAIT)),
        }
    }

    /// Sets the maximum number of requests in progress; 0 counts as 1. Default: no limit.
    #[must_use]
    pub fn concurrent(self, requests: usize) -> Self {
        let RequestGate { interval, max_wait, .. } = *self.gate;
        self.with(Some(requests.max(1)), interval, max_wait)
    }

    /// Sets the maximum number of requests that begin in a second, evenly spaced; 0 counts as 1. Default: no limit.
    #[must_use]
    pub fn per_second(self, requests: u32) -> Self {
        let RequestGate { concurrent, max_wait, .. } = *self.gate;
        self.with(concurrent, Duration::from_secs(1) / requests.max(1), max_wait)
    }

    /// Sets the maximum time that a request waits for its turn. Default: 10 minutes.
    #[must_use]
    pub fn max_wait(self, time: Duration) -> Self {
        let RequestGate { concurrent, interval, .. } = *self.gate;
        self.with(concurrent, interval, time)
    }

    fn with(self, concurrent: Option<usize>, interval: Duration, max_wait: Duration) -> Self {
        let gate = Arc::new(RequestGate::new(concurrent, interval, max_wait));
        Self { gate, ..self }
    }

    /// Sends the requests, as many at once as the limits allow and at most 256, and returns the answers in the order in which they are
    /// complete, each with the number of its request, from 0. Requests are taken from the iterator when they are sent.
    pub fn complete_all<I>(
        &self,
        requests: I,
    ) -> impl Stream<Item = (usize, Result<Completion, ProviderError>)> + Send + Unpin + use<I>
    where
        I: IntoIterator<Item = Request, IntoIter: Send + 'static>,
    {
        const MOST: usize = 256;
        let at_once = self.gate.concurrent.unwrap_or(MOST).min(MOST);
        let provider = self.clone();
        let answers = futures_util::stream::iter(requests.into_iter().enumerate());
        let answers = answers.map(move |(at, request)| {
            let answer = provider.complete(request);
            async move { (at, answer.await) }
        });
        answers.buffer_unordered(at_once).boxed()
    }

    /// Waits for a turn, and sends a request.
    fn send<T: Send + 'static>(
        &self,
        send: impl FnOnce(&dyn Provider) -> ProviderFuture<T> + Send + 'static,
        count: impl FnOnce(T, RequestTurn) -> T + Send + 'static,
    ) -> ProviderFuture<T> {
        let (provider, gate) = (Arc::clone(&self.provider), Arc::clone(&self.gate));
        Box::pin(async move {
            let turn = gate.take_turn().await?;
            match send(&*provider).await {
                Ok(opened) => Ok(count(opened, turn)),
                Err(error) => {
                    turn.gate.note_error(&error);
                    Err(error)
                }
            }
        })
    }
}

debug_fields! { Limited, limited: gate = limited.gate, }

impl RequestGate {
    fn new(concurrent: Option<usize>, interval: Duration, max_wait: Duration) -> Self {
        let places = concurrent.map(|places| Arc::new(Semaphore::new(places)));
        Self { concurrent, places, interval, max_wait, next: Mutex::new(None) }
    }

    /// Waits for the turn of a request.
    async fn take_turn(self: Arc<Self>) -> Result<RequestTurn, ProviderError> {
        let after = self.max_wait;
        let wait = async {
            let place = match &self.places {
                Some(places) => Arc::clone(places).acquire_owned().await.ok(),
                None => None,
            };
            // A pause may begin during the wait.
            while let Some(time) = self.time_of_turn() {
                sleep_until(time).await;
            }
            place
        };
        let late = |_| ProviderError::Timeout { which: TimeoutKind::Turn, after };
        let place = timeout(after, wait).await.map_err(late)?;
        Ok(RequestTurn { gate: self, _place: place })
    }

    /// Takes the next time at which a request may begin if that is now, and returns it otherwise.
    fn time_of_turn(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let later = next.filter(|next| *next > now);
        if later.is_none() && !self.interval.is_zero() {
            // Time that was not used is not saved up.
            *next = Some(next.map_or(now, |next| next.max(now)) + self.interval);
        }
        later
    }

    /// Lets no request begin for so long.
    fn pause(&self, time: Duration) {
        let Some(end) = Instant::now().checked_add(time) else { return };
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = Some(next.map_or(end, |next| next.max(end)));
    }

    fn note_error(&self, error: &ProviderError) {
        if let Some(time) = error.retry_after() {
            self.pause(time);
        }
    }

    /// Notes that the provider waits before it tries again.
    fn note_chunk(&self, chunk: &StreamChunk) {
        for event in chunk.details.iter().flat_map(|details| &details.events) {
            if let AgentEvent::Retry(RetryEvent { delay_ms, error, .. }) = event
                && error.code == ErrorCode::RateLimited
            {
                self.pause(Duration::from_millis(*delay_ms));
            }
        }
    }
}

/// The turn of a request, with its place among those in progress.
#[derive(Debug)]
struct RequestTurn {
    gate: Arc<RequestGate>,
    _place: Option<OwnedSemaphorePermit>,
}

/// The chunks of a request in progress.
struct CountedStream {
    chunks: ChunkStream,
    /// `None` once the stream has ended.
    turn: Option<RequestTurn>,
}

impl CountedStream {
    fn boxed(chunks: ChunkStream, turn: RequestTurn) -> ChunkStream {
        Box::pin(Self { chunks, turn: Some(turn) })
    }
}

impl Stream for CountedStream {
    type Item = Result<StreamChunk, ProviderError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let next = this.chunks.as_mut().poll_next(context);
        if let (Poll::Ready(item), Some(turn)) = (&next, &this.turn) {
            match item {
                Some(Ok(chunk)) => turn.gate.note_chunk(chunk),
                Some(Err(error)) => turn.gate.note_error(error),
                None => this.turn = None,
            }
        }
        next
    }
}

impl Provider for Limited {
    fn info(&self) -> &ModelInfo {
        self.provider.info()
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        self.send(move |provider| provider.stream_completion(request), CountedStream::boxed)
    }

    fn with_model(&self, model: &str) -> Option<Arc<dyn Provider>> {
        let (provider, gate) = (self.provider.with_model(model)?, Arc::clone(&self.gate));
        Some(Arc::new(Self { provider, gate }))
    }

    fn stream_answer(
        &self,
        request: Request,
        schema: AnswerSchema,
    ) -> ProviderFuture<(ChunkStream, StructuredMethod)> {
        self.send(
            move |provider| provider.stream_answer(request, schema),
            |(chunks, method), turn| (CountedStream::boxed(chunks, turn), method),
        )
    }

    fn schema_rules(&self) -> SchemaRules {
        self.provider.schema_rules()
    }

    fn written_thinking(&self) -> Option<ThinkingDialect> {
        self.provider.written_thinking()
    }

    fn context_window(&self) -> ProviderFuture<Option<u64>> {
        self.provider.context_window()
    }

    fn health(&self) -> ProviderFuture<Health> {
        self.provider.health()
    }
}
