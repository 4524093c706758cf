//! The provider over HTTP: sends requests and receives chunks.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::Value;
use tokio::{sync::OnceCell, time::Instant};

use super::{
    BodyWriter, CallScope, HttpConfig, WireFormat, check,
    encoded::EncodedCache,
    fitted_tools::{FittedLists, FittedTools},
    http_error::status_error,
    origins::{AnswerOrigins, LEFT_OUT},
    redact::SecretRedactor,
    tool_names::WireNames,
    url,
};
use crate::{
    ChunkStream, ContentTyper, DegradedNotice, Health, ModelCard, PromptCache, Provider,
    ProviderError, ProviderFuture, Request, RequestOwner, SchemaRules, StreamChunk, TimeoutKind,
    ToolChoice, ToolSpec,
    attempts::{
        driver::{AttemptPolicy, NextAttempt, begin},
        retry::RetrySchedule,
    },
    body::{BodyChunks, BodyDeadline},
    decode::BodyDecoding,
    transport::{BodyStream, HttpRequest, HttpResponse, Transport},
};
use forgeline_parser::ThinkingDialect;
use forgeline_types::{AgentEvent, ModelInfo, Text, debug_fields};

/// Maximum number of bytes of an error body that are read.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// A provider over HTTP that speaks the format `W`, such as
/// [`OpenAi`](crate::openai::OpenAi).
///
/// Clones share their connections and the encoded conversations.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
/// use forgeline::llm::{Provider, Request, RetryPolicy, Timeouts, openai::OpenAi};
///
/// # async fn run() -> Result<(), forgeline::llm::ProviderError> {
/// // OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL
/// let provider = OpenAi::from_env()?;
/// // or
/// let provider = OpenAi::builder()
///     .base_url("http://127.0.0.1:8080")
///     .timeouts(Timeouts::default().total(Duration::from_secs(60)))
///     .retry(RetryPolicy::NONE)
///     .build()?;
/// provider.health().await?;
/// let answer = provider.complete(Request::prompt("What is 6 × 7?")).await?;
/// # Ok(())
/// # }
/// ```
pub struct HttpProvider<W>(Arc<HttpShared<W>>);

pub(super) struct HttpShared<W> {
    pub(super) wire: W,
    pub(super) config: HttpConfig,
    pub(super) info: ModelInfo,
    pub(super) transport: Arc<dyn Transport>,
    cache: EncodedCache,
    lists: FittedLists,
    origins: Arc<AnswerOrigins>,
    /// The number of tokens that the server gives the model, once it was asked.
    pub(super) window: OnceCell<Option<u64>>,
}

impl<W> Clone for HttpProvider<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: WireFormat> HttpProvider<W> {
    /// Returns the same provider with another model.
    #[must_use]
    pub fn with_model(&self, model: impl Into<Text>) -> Self {
        let config = self.0.config.clone().of_model(model.into());
        Self::from_parts(self.0.wire.clone(), config, Arc::clone(&self.0.transport))
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &HttpConfig {
        &self.0.config
    }

    pub(super) fn inner(&self) -> &HttpShared<W> {
        &self.0
    }

    pub(super) fn from_parts(wire: W, config: HttpConfig, transport: Arc<dyn Transport>) -> Self {
        let card = ModelCard::for_model(&config.model);
        let info = ModelInfo::new(W::PROVIDER, config.model.clone())
            .capabilities(config.capabilities)
            .context_tokens(card.and_then(|card| card.context_tokens))
            .text_calls(!url::is_vendors(&config.base_url, &W::defaults().base_url))
            .deferred_tools(wire.defers_tools(&config))
            .compacts(wire.compacts())
            .media(wire.media_rules(&config));
        let origins = Arc::new(AnswerOrigins::new(W::PROVIDER, &config));
        let (cache, lists) = (EncodedCache::default(), FittedLists::default());
        let window = OnceCell::new();
        Self(Arc::new(HttpShared { wire, config, info, transport, cache, lists, origins, window }))
    }
}

debug_fields! { <W: WireFormat> HttpProvider, provider:
    provider = W::PROVIDER,
    config = provider.0.config,
}

impl<W: WireFormat> Provider for HttpProvider<W> {
    fn info(&self) -> &ModelInfo {
        &self.0.info
    }

    fn stream_completion(&self, mut request: Request) -> ProviderFuture<ChunkStream> {
        let field = W::STREAM_FIELD.filter(|_| !self.0.config.capabilities.streaming);
        if let Some(field) = field {
            request.extra.entry(field).or_insert(Value::Bool(false));
        }
        let attempt = request.attempts_made;
        let schedule = RetrySchedule::new(self.0.config.retry, attempt);
        let own = self.0.origins.own(&request.messages);
        let has_foreign = own.is_some();
        request.messages = own.unwrap_or(request.messages);
        let alternates = self.0.wire.alternates_roles(&self.0.config);
        self.0.cache.repair(&mut request.messages, alternates);
        let (told, names) = match self.0.fit_tools(&mut request) {
            Ok(fitted) => fitted,
            Err(error) => return std::future::ready(Err(error)).boxed(),
        };
        let (inner, request) = (Arc::clone(&self.0), Arc::new(request));
        let mut left_out = inner.left_out(&request);
        left_out.extend(has_foreign.then(|| Text::from(LEFT_OUT)));
        left_out.extend(told.iter().cloned());
        let event = (!left_out.is_empty()).then(|| degraded_event(W::PROVIDER, &left_out));
        begin(
            HttpAttempts { inner, request, names, schedule, attempt, begun: None },
            Vec::from_iter(event),
        )
        .boxed()
    }

    fn schema_rules(&self) -> SchemaRules {
        self.0.wire.schema_rules(&self.0.config)
    }

    fn written_thinking(&self) -> Option<ThinkingDialect> {
        let config = &self.0.config;
        self.0.wire.signs_reasoning(config).then(|| config.thinking.clone())
    }

    fn health(&self) -> ProviderFuture<Health> {
        let inner = Arc::clone(&self.0);
        async move { inner.health().await }.boxed()
    }

    fn context_window(&self) -> ProviderFuture<Option<u64>> {
        let inner = Arc::clone(&self.0);
        async move { Ok(inner.context_window().await) }.boxed()
    }

    fn with_model(&self, model: &str) -> Option<Arc<dyn Provider>> {
        Some(Arc::new(Self::with_model(self, model)))
    }
}

/// One request and its attempts.
struct HttpAttempts<W> {
    inner: Arc<HttpShared<W>>,
    request: Arc<Request>,
    names: Option<Arc<WireNames>>,
    schedule: RetrySchedule,
    /// The number of attempts so far.
    attempt: u32,
    /// The time at which the first attempt began.
    begun: Option<Instant>,
}

/// The notes about a request's tools, and the names of the tools.
type ToolNotes = (Arc<[Text]>, Option<Arc<WireNames>>);

/// The chunks of an attempt.
type AttemptChunks<D> = RedactedStream<BodyChunks<BodyStream, D>>;

impl<W: WireFormat> AttemptPolicy for HttpAttempts<W> {
    type Stream = AttemptChunks<W::Decoder>;

    fn open(&mut self) -> ProviderFuture<Self::Stream> {
        let begun = *self.begun.get_or_insert_with(Instant::now);
        let (inner, request) = (Arc::clone(&self.inner), Arc::clone(&self.request));
        self.attempt = self.attempt.saturating_add(1);
        let (names, attempt) = (self.names.clone(), self.attempt);
        async move { inner.stream(&request, names, (attempt, begun)).await }.boxed()
    }

    fn after(&mut self, error: ProviderError) -> Result<NextAttempt, ProviderError> {
        let next = self.schedule.after(error)?;
        let total = self.inner.config.timeouts.total;
        let begun = self.begun.unwrap_or_else(Instant::now);
        let Some(end) = BodyDeadline::new(begun, TimeoutKind::Total, total) else {
            return Ok(next);
        };
        // A wait that would end too late is not started.
        let again = Instant::now().checked_add(next.delay);
        if again.is_none_or(|again| again >= end.at) { Err(end.error()) } else { Ok(next) }
    }
}

/// A stream whose errors are redacted, and whose chunks have the origin of the parts that are sent back. Chunks are passed
/// on without a move, which `map_err` would add to each.
struct RedactedStream<S> {
    chunks: S,
    redactor: SecretRedactor,
    origins: Arc<AnswerOrigins>,
    names: Option<Arc<WireNames>>,
}

impl<S> Stream for RedactedStream<S>
where
    S: Stream<Item = Result<StreamChunk, ProviderError>> + Unpin,
{
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = self.get_mut();
        let mut item = ready!(Pin::new(&mut this.chunks).poll_next(context));
        if let Some(Ok(chunk)) = &mut item
            && (chunk.details.is_some() || !chunk.tool_calls.is_empty())
        {
            this.origins.stamp(chunk);
            if let Some(names) = &this.names {
                let calls = chunk.tool_calls.iter_mut();
                calls.filter_map(|call| call.name.as_mut()).for_each(|name| names.restore(name));
            }
        }
        Poll::Ready(match item {
            Some(Err(error)) => Some(Err(this.redactor.error(error))),
            item => item,
        })
    }
}

fn body_bytes(body: &[Bytes]) -> usize {
    body.iter().map(Bytes::len).sum()
}

impl<W: WireFormat> HttpShared<W> {
    /// Converts the schemas of the tools to what the server accepts; returns the notes to report and the tools' names.
    fn fit_tools(&self, request: &mut Request) -> Result<ToolNotes, ProviderError> {
        if request.tools.is_empty() {
            return Ok(ToolNotes::default());
        }
        let rules = self.wire.tool_schema_rules(&self.config);
        let enforced = self.wire.schema_rules(&self.config);
        let FittedTools { tools, told, names } =
            self.lists.fit(&request.tools, &rules, enforced, W::PROVIDER);
        let is_in = |tools: &[ToolSpec], name: &Text| tools.iter().any(|tool| tool.name == *name);
        if let Some(ToolChoice::Tool(name)) = &request.tool_choice
            && is_in(&request.tools, name)
            && !is_in(&tools, name)
        {
            let start = format!("the tool `{name}`");
            let detail = told.iter().find(|told| told.starts_with(&start)).cloned();
            let detail = detail.unwrap_or_default();
            return Err(ProviderError::SchemaUnsupported { feature: "tool_choice".into(), detail });
        }
        request.tools = tools;
        Ok((told, Some(names)))
    }

    /// Returns the parts of the request that do not reach the server.
    fn left_out(&self, request: &Request) -> Vec<Text> {
        let steers = self.config.capabilities.prompt_caching;
        let wants = !matches!(request.cache, None | Some(PromptCache::Off));
        let cache = (wants && !steers).then(|| Text::from("the settings of the prompt cache"));
        let mut left_out = Vec::from_iter(cache);
        left_out.extend(self.wire.dropped_fields(request, &self.config));
        left_out
    }

    /// Starts the attempt of this number of a request whose first attempt began at `begun`.
    async fn stream(
        &self,
        request: &Request,
        names: Option<Arc<WireNames>>,
        (attempt, begun): (u32, Instant),
    ) -> Result<AttemptChunks<W::Decoder>, ProviderError> {
        let config = &self.config;
        check::check(request, config.capabilities, self.info.media, W::PROVIDER)?;
        self.wire.schema_rules(config).check_request(request)?;
        let writer = BodyWriter::new(W::PROVIDER, request, config).with_cache(&self.cache);
        let body = self.wire.body(writer)?;
        let start = Instant::now();
        let total = BodyDeadline::new(begun, TimeoutKind::Total, config.timeouts.total);
        let timeouts = config.timeouts_for(body_bytes(&body));
        let first_byte = BodyDeadline::new(start, TimeoutKind::FirstByte, timeouts.first_byte);
        let deadline = BodyDeadline::earlier(first_byte, total);
        let mut http = HttpRequest::new("POST", self.wire.endpoint(config))
            .header("content-type", "application/json")
            .header("accept", W::ACCEPT)
            .header("cache-control", "no-store")
            .body(body);
        for (name, value) in self.wire.headers(request) {
            http = http.header(name, value);
        }
        let head = BodyDeadline::new(start, TimeoutKind::Headers, config.timeouts.headers);
        let head = BodyDeadline::earlier(head, deadline);
        let scope = self.scope(request.owner.as_ref(), attempt);
        let (response, redactor, _) = self.send(http, &scope, head).await?;
        tracing::debug!(status = response.status, took = ?start.elapsed(), "the server answers");
        if !(200..300).contains(&response.status) {
            let patience = config.timeouts.error_body;
            return Err(failure(response, deadline, patience, &redactor).await);
        }
        let typer = ContentTyper::new(&config.thinking, &config.tools);
        let decoder = self.wire.answer_decoder(config, request);
        let decoding = BodyDecoding::new(decoder, typer, config.limits.max_response_bytes);
        let chunks = BodyChunks::new(response.body, decoding, timeouts, start, total);
        let chunks = chunks.once_begun(config.timeouts);
        Ok(RedactedStream { chunks, redactor, origins: Arc::clone(&self.origins), names })
    }

    /// Returns the scope of an attempt for this owner.
    fn scope<'a>(&'a self, owner: Option<&'a RequestOwner>, attempt: u32) -> CallScope<'a> {
        CallScope { owner, model: &self.config.model, attempt }
    }

    /// Sends a request without an owner, such as for the list of models.
    pub(super) async fn send_unowned(
        &self,
        http: HttpRequest,
        deadline: Option<BodyDeadline>,
    ) -> Result<(HttpResponse, SecretRedactor, bool), ProviderError> {
        self.send(http, &self.scope(None, 0), deadline).await
    }

    /// Sends a request with its authorization headers; returns the response, the redactor for this request,
    /// and whether the request had a key.
    async fn send(
        &self,
        mut http: HttpRequest,
        scope: &CallScope<'_>,
        deadline: Option<BodyDeadline>,
    ) -> Result<(HttpResponse, SecretRedactor, bool), ProviderError> {
        let authorised = match &self.config.authorize {
            Some(hook) => within(deadline, hook.headers(scope)).await??,
            None => Vec::new(),
        };
        let redactor = self.config.redactor(&authorised);
        if let Some(key) = &self.config.api_key {
            let (name, value) = self.wire.key_header(key.expose());
            http = http.header(name, value);
        }
        for (name, value) in self.config.headers.iter().chain(&authorised) {
            http = http.header(name.clone(), value.expose());
        }
        let response = within(deadline, self.transport.send(http)).await?;
        let response = response.map_err(|error| error.into_provider_error(0))?;
        Ok((response, redactor, self.config.api_key.is_some() || !authorised.is_empty()))
    }
}

/// Returns the error for an error status, described by the part of the body that arrives in time.
pub(super) async fn failure(
    mut response: HttpResponse,
    deadline: Option<BodyDeadline>,
    patience: Duration,
    redactor: &SecretRedactor,
) -> ProviderError {
    let own = BodyDeadline::new(Instant::now(), TimeoutKind::Idle, patience);
    let mut body = Vec::new();
    let reading = read_start(&mut response.body, MAX_ERROR_BYTES, &mut body);
    // The part that has arrived by then is kept.
    within(BodyDeadline::earlier(deadline, own), reading).await.ok();
    let body = String::from_utf8_lossy(&body);
    ProviderError::Status(Box::new(status_error(&response, &body, &|text| redactor.text(text))))
}

/// Reads up to `most` bytes of a body, as far as they arrive.
pub(super) async fn read_start(body: &mut BodyStream, most: usize, bytes: &mut Vec<u8>) {
    while let Some(Ok(read)) = body.next().await {
        bytes.extend_from_slice(&read);
        if bytes.len() >= most {
            break;
        }
    }
    bytes.truncate(most);
}

/// Waits for `future` until the deadline.
pub(super) async fn within<T>(
    deadline: Option<BodyDeadline>,
    future: impl Future<Output = T>,
) -> Result<T, ProviderError> {
    match deadline {
        None => Ok(future.await),
        Some(deadline) => {
            tokio::time::timeout_at(deadline.at, future).await.map_err(|_| deadline.error())
        }
    }
}

/// Creates the event that reports the parts left out by `provider`.
fn degraded_event(provider: &str, left_out: &[Text]) -> AgentEvent {
    DegradedNotice { provider: provider.into(), left_out: left_out.to_vec() }.into()
}
