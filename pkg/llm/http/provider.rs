//! The provider: requests go out, chunks come in.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::{Stream, future::BoxFuture};
use futures_util::{FutureExt as _, StreamExt as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::time::Instant;

use super::{
    HttpBuilder, HttpConfig, WireFormat, capabilities, config::config, secrets::Secrets, url::host,
};
use crate::{
    llm::{
        ChunkStream, ContentTyper, Health, PromptCache, Provider, ProviderError, Request,
        SchemaRules, StreamChunk, TimeoutKind,
        attempts::{Attempts, Next, RetrySchedule, begin},
        body::{BodyChunks, Deadline},
        decode::{Decoding, wrong_body},
        degraded,
        http_error::status_error,
        transport::{BodyStream, HttpRequest, HttpResponse, Transport},
    },
    types::{ModelInfo, Text},
};

/// Longest error body that is read.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Longest list of models that is read.
const MAX_LIST_BYTES: usize = 4 << 20;

/// Longest time of a health check.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(10);

/// A provider over HTTP that speaks the format `W`.
///
/// Clones share their connections.
pub struct HttpProvider<W>(Arc<Inner<W>>);

struct Inner<W> {
    wire: W,
    config: HttpConfig,
    info: ModelInfo,
    transport: Arc<dyn Transport>,
}

impl<W> Clone for HttpProvider<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: WireFormat> HttpProvider<W> {
    /// A provider of this model at the vendor.
    ///
    /// # Errors
    ///
    /// As for [`HttpBuilder::build`].
    pub fn new(api_key: impl Into<String>, model: impl Into<Text>) -> Result<Self, ProviderError> {
        Self::builder().api_key(api_key).model(model).build()
    }

    /// Sets one up.
    #[must_use]
    pub fn builder() -> HttpBuilder<W> {
        HttpBuilder::default()
    }

    /// A provider set up by the environment variables that [`WireFormat::ENV`] names: key, address
    /// and model.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Config`] when neither key nor base URL is set and the provider is no local
    /// server, and as for [`HttpBuilder::build`].
    pub fn from_env() -> Result<Self, ProviderError> {
        let names = W::ENV;
        let read = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let (key, url) = (read(names.api_key), read(names.base_url));
        let is_local = W::defaults().base_url.starts_with("http://");
        if key.is_none() && url.is_none() && !is_local {
            return Err(config(format!(
                "set {}, or {} for a server that needs no key",
                names.api_key, names.base_url
            )));
        }
        let mut builder = Self::builder().api_key(key.unwrap_or_default());
        if let Some(url) = url {
            builder = builder.base_url(W::address(&url));
        }
        builder.model(read(names.model).unwrap_or_default()).build()
    }

    /// The same provider with another model.
    #[must_use]
    pub fn with_model(&self, model: impl Into<Text>) -> Self {
        let config = self.0.config.clone().of_model(model.into());
        Self::from_parts(self.0.wire.clone(), config, Arc::clone(&self.0.transport))
    }

    /// How it is set up.
    #[must_use]
    pub fn config(&self) -> &HttpConfig {
        &self.0.config
    }

    pub(super) fn from_parts(wire: W, config: HttpConfig, transport: Arc<dyn Transport>) -> Self {
        let info = config.info::<W>();
        Self(Arc::new(Inner { wire, config, info, transport }))
    }
}

impl<W: WireFormat> fmt::Debug for HttpProvider<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpProvider")
            .field("provider", &W::PROVIDER)
            .field("config", &self.0.config)
            .finish_non_exhaustive()
    }
}

impl<W: WireFormat> Provider for HttpProvider<W> {
    fn info(&self) -> &ModelInfo {
        &self.0.info
    }

    fn stream_completion(
        &self,
        mut request: Request,
    ) -> BoxFuture<'static, Result<ChunkStream, ProviderError>> {
        let field = W::STREAM_FIELD.filter(|_| !self.0.config.capabilities.streaming);
        if let Some(field) = field {
            request.extra.entry(field).or_insert(Value::Bool(false));
        }
        let schedule = RetrySchedule::new(self.0.config.retry);
        let (inner, request) = (Arc::clone(&self.0), Arc::new(request));
        let left_out = inner.left_out(&request);
        let told = (!left_out.is_empty()).then(|| degraded::event(W::PROVIDER, &left_out));
        begin(Sending { inner, request, schedule, begun: None }, Vec::from_iter(told)).boxed()
    }

    fn schema_rules(&self) -> SchemaRules {
        self.0.wire.schema_rules(&self.0.config)
    }

    fn health(&self) -> BoxFuture<'static, Result<Health, ProviderError>> {
        let inner = Arc::clone(&self.0);
        async move { inner.health().await }.boxed()
    }

    fn with_model(&self, model: &str) -> Option<Arc<dyn Provider>> {
        Some(Arc::new(Self::with_model(self, model)))
    }
}

/// One request and its attempts.
struct Sending<W> {
    inner: Arc<Inner<W>>,
    request: Arc<Request>,
    schedule: RetrySchedule,
    /// When the first attempt began.
    begun: Option<Instant>,
}

/// What an attempt streams.
type Chunks<D> = Struck<BodyChunks<BodyStream, D>>;

impl<W: WireFormat> Attempts for Sending<W> {
    type Stream = Chunks<W::Decoder>;

    fn open(&mut self) -> BoxFuture<'static, Result<Self::Stream, ProviderError>> {
        let begun = *self.begun.get_or_insert_with(Instant::now);
        let (inner, request) = (Arc::clone(&self.inner), Arc::clone(&self.request));
        async move { inner.stream(&request, begun).await }.boxed()
    }

    fn after(&mut self, error: ProviderError) -> Result<Next, ProviderError> {
        let next = self.schedule.after(error)?;
        let total = self.inner.config.timeouts.total;
        let Some(end) =
            Deadline::new(self.begun.unwrap_or_else(Instant::now), TimeoutKind::Total, total)
        else {
            return Ok(next);
        };
        // A wait that ends too late is not begun.
        let again = Instant::now().checked_add(next.delay);
        if again.is_none_or(|again| again >= end.at) { Err(end.error()) } else { Ok(next) }
    }
}

/// A stream whose errors show no secret.
struct Struck<S> {
    chunks: S,
    secrets: Secrets,
}

impl<S> Stream for Struck<S>
where
    S: Stream<Item = Result<StreamChunk, ProviderError>> + Unpin,
{
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = self.get_mut();
        let item = ready!(Pin::new(&mut this.chunks).poll_next(context));
        Poll::Ready(match item {
            Some(Err(error)) => Some(Err(this.secrets.strike_error(error))),
            item => item,
        })
    }
}

impl<W: WireFormat> Inner<W> {
    /// What of the request does not reach the server.
    fn left_out(&self, request: &Request) -> Vec<Text> {
        let steers = self.config.capabilities.prompt_caching;
        let wants = !matches!(request.cache, None | Some(PromptCache::Off));
        let cache = (wants && !steers).then(|| Text::from("what the prompt cache is to keep"));
        let mut left_out = Vec::from_iter(cache);
        left_out.extend(self.wire.degraded(request, &self.config));
        left_out
    }

    /// One attempt of a request whose first attempt began at `begun`.
    async fn stream(
        &self,
        request: &Request,
        begun: Instant,
    ) -> Result<Chunks<W::Decoder>, ProviderError> {
        let config = &self.config;
        capabilities::check(request, config.capabilities, W::PROVIDER)?;
        self.wire.schema_rules(config).check_request(request)?;
        let body = self.wire.body(request, config)?;
        let start = Instant::now();
        let total = Deadline::new(begun, TimeoutKind::Total, config.timeouts.total);
        let deadline = Deadline::earlier(
            Deadline::new(start, TimeoutKind::FirstByte, config.timeouts.first_byte),
            total,
        );
        let mut secrets = config.secrets();
        let authorised = within(deadline, self.authorised()).await??;
        secrets.extend(authorised.iter().map(|(_, value)| value.clone()));
        let http = self.http(request, body, &authorised);
        let response = within(deadline, self.transport.send(http)).await?;
        let response = response.map_err(|error| error.into_provider_error(0))?;
        if !(200..300).contains(&response.status) {
            return Err(failure(response, deadline, &secrets).await);
        }
        let typer = ContentTyper::new(&config.thinking, &config.tools);
        let decoder = self.wire.decoder(config);
        let decoding = Decoding::new(decoder, typer, config.limits.max_response_bytes);
        let chunks = BodyChunks::new(response.body, decoding, config.timeouts, start, total);
        Ok(Struck { chunks, secrets })
    }

    /// Asks for the list of models.
    async fn health(&self) -> Result<Health, ProviderError> {
        let start = Instant::now();
        let deadline = Deadline::new(start, TimeoutKind::Total, HEALTH_TIMEOUT);
        let mut secrets = self.config.secrets();
        let authorised = within(deadline, self.authorised()).await??;
        secrets.extend(authorised.iter().map(|(_, value)| value.clone()));
        let http = HttpRequest::new("GET", self.wire.models_endpoint(&self.config));
        let http = self.signed(http.header("accept", "application/json"), &authorised);
        let response = within(deadline, self.transport.send(http)).await?;
        let mut response = response.map_err(|error| error.into_provider_error(0))?;
        // A server without a list of models is there nevertheless.
        let has_list = !matches!(response.status, 404 | 405 | 501);
        if has_list && !(200..300).contains(&response.status) {
            return Err(failure(response, deadline, &secrets).await);
        }
        let ids = if has_list {
            let list = within(deadline, read_start(&mut response.body, MAX_LIST_BYTES)).await?;
            let no_list = || wrong_body(&String::from_utf8_lossy(&list), "a list of models");
            Some(models(&list).ok_or_else(|| secrets.strike_error(no_list()))?)
        } else {
            None
        };
        let is_listed = ids.is_some();
        // Others may list their models to anybody.
        let vendor = W::defaults().base_url;
        let is_vendor =
            vendor.starts_with("https://") && host(&vendor) == host(self.config.base_url.trim());
        let has_key = self.config.api_key.is_some() || !authorised.is_empty();
        let model = self.config.model.as_str();
        let ids = ids.filter(|_| !model.is_empty());
        Ok(Health {
            latency: start.elapsed(),
            key_checked: is_listed && has_key && is_vendor,
            model_listed: ids.map(|ids| ids.iter().any(|id| names(id, model))),
        })
    }

    async fn authorised(&self) -> Result<Vec<(Text, SecretString)>, ProviderError> {
        match &self.config.authorize {
            Some(hook) => hook.headers().await,
            None => Ok(Vec::new()),
        }
    }

    fn http(
        &self,
        request: &Request,
        body: Vec<Bytes>,
        authorised: &[(Text, SecretString)],
    ) -> HttpRequest {
        let mut http = HttpRequest::new("POST", self.wire.endpoint(&self.config))
            .header("content-type", "application/json")
            .header("accept", W::ACCEPT)
            .header("cache-control", "no-store")
            .body(body);
        for (name, value) in self.wire.headers(request) {
            http = http.header(name, value);
        }
        self.signed(http, authorised)
    }

    /// With the headers that let the request in.
    fn signed(&self, mut http: HttpRequest, authorised: &[(Text, SecretString)]) -> HttpRequest {
        if let Some(key) = &self.config.api_key {
            let (name, value) = self.wire.key_header(key.expose_secret());
            http = http.header(name, value);
        }
        for (name, value) in self.config.headers.iter().chain(authorised) {
            http = http.header(name.clone(), value.expose_secret());
        }
        http
    }
}

/// What an error status means; a body that does not come is done without.
async fn failure(
    mut response: HttpResponse,
    deadline: Option<Deadline>,
    secrets: &Secrets,
) -> ProviderError {
    let body = within(deadline, read_start(&mut response.body, MAX_ERROR_BYTES)).await;
    let body = body.unwrap_or_default();
    let body = String::from_utf8_lossy(&body);
    ProviderError::Status(Box::new(status_error(&response, &body, &|text| secrets.strike(text))))
}

/// The first bytes of a body, as far as it arrives.
async fn read_start(body: &mut BodyStream, most: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(Ok(read)) = body.next().await {
        bytes.extend_from_slice(&read);
        if bytes.len() >= most {
            break;
        }
    }
    bytes.truncate(most);
    bytes
}

/// The ids in a list of models, in the words of any vendor; `None` when it is no such list.
fn models(list: &[u8]) -> Option<Vec<String>> {
    let list: Value = serde_json::from_slice(list).ok()?;
    let named = || ["data", "models"].iter().find_map(|key| list.get(key)?.as_array());
    let entries = list.as_array().or_else(named)?;
    let id = |entry: &Value| {
        let id = ["id", "name", "model"].iter().find_map(|key| entry.get(key)?.as_str());
        id.map(str::to_owned)
    };
    Some(entries.iter().filter_map(id).collect())
}

/// Whether the listed `id` is `model`, be it below a folder, with the date of its making or with the
/// tag that is meant when none is named.
fn names(id: &str, model: &str) -> bool {
    let is_date = |rest: &str| {
        let digits = rest.bytes().filter(u8::is_ascii_digit).count();
        digits == 8 && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let is_model = |id: &str| match id.strip_prefix(model) {
        Some("" | ":latest") => true,
        Some(rest) => rest.strip_prefix('-').is_some_and(is_date),
        None => false,
    };
    is_model(id) || id.rsplit_once('/').is_some_and(|(_, id)| is_model(id))
}

async fn within<T>(
    deadline: Option<Deadline>,
    future: impl Future<Output = T>,
) -> Result<T, ProviderError> {
    match deadline {
        None => Ok(future.await),
        Some(deadline) => {
            tokio::time::timeout_at(deadline.at, future).await.map_err(|_| deadline.error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{models, names};

    #[test]
    fn lists_are_read_in_every_form_and_a_date_or_a_default_tag_is_no_other_model() {
        let lists = [
            r#"{"object":"list","data":[{"id":"a"}]}"#,
            r#"{"models":[{"name":"a"}]}"#,
            r#"[{"id":"a"}]"#,
        ];
        for list in lists {
            assert_eq!(models(list.as_bytes()), Some(vec!["a".to_owned()]), "{list}");
        }
        for list in ["<html></html>", "{}", "\"fine\"", ""] {
            assert_eq!(models(list.as_bytes()), None, "{list}");
        }
        #[rustfmt::skip]
        let cases = [
            ("claude-haiku-4-5-20251001",  "claude-haiku-4-5", true),
            ("gpt-4o-2024-08-06",          "gpt-4o",           true),
            ("models/gemini-2.5-flash",    "gemini-2.5-flash", true),
            ("qwen3:latest",               "qwen3",            true),
            ("gpt-4o-mini",                "gpt-4o",           false),
            ("gpt-4o-mini-2024-07-18",     "gpt-4o",           false),
            ("claude-haiku-4-5",           "claude-haiku-4-5-20251001", false),
        ];
        for (id, model, want) in cases {
            assert_eq!(names(id, model), want, "{id} {model}");
        }
    }
}
