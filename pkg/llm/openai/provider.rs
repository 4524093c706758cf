//! The provider: requests go out, chunks come in.

use std::{fmt, future::Future, sync::Arc};

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use secrecy::ExposeSecret as _;
use tokio::time::Instant;

use super::{
    OpenAiBuilder, OpenAiConfig, OpenAiDecoder, config::config, request, status::status_error,
};
use crate::{
    llm::{
        ChunkStream, ContentTyper, Provider, ProviderError, Request, TimeoutKind,
        body::{BodyChunks, Deadline},
        transport::{BodyStream, HttpRequest, HttpResponse, Transport},
    },
    types::{ModelInfo, Text},
};

/// Longest error body that is read.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// OpenAI Chat Completions, as OpenAI and everybody compatible serve it.
///
/// Clones share their connections.
///
/// # Examples
///
/// ```no_run
/// use forgeline::llm::{Provider, Request, openai::OpenAi};
///
/// # async fn run() -> Result<(), forgeline::llm::ProviderError> {
/// let provider = OpenAi::builder().base_url("http://127.0.0.1:8080").build()?;
/// let answer = provider.complete(Request::prompt("What is 6 × 7?")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenAi(Arc<Inner>);

struct Inner {
    config: OpenAiConfig,
    info: ModelInfo,
    transport: Arc<dyn Transport>,
}

impl OpenAi {
    /// A provider of this model at OpenAI.
    ///
    /// # Errors
    ///
    /// As for [`OpenAiBuilder::build`].
    pub fn new(api_key: impl Into<String>, model: impl Into<Text>) -> Result<Self, ProviderError> {
        Self::builder().api_key(api_key).model(model).build()
    }

    /// Sets one up.
    #[must_use]
    pub fn builder() -> OpenAiBuilder {
        OpenAiBuilder::default()
    }

    /// A provider set up by `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Config`] when neither key nor base URL is set, and as for
    /// [`OpenAiBuilder::build`].
    pub fn from_env() -> Result<Self, ProviderError> {
        let read = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let (key, url) = (read("OPENAI_API_KEY"), read("OPENAI_BASE_URL"));
        if key.is_none() && url.is_none() {
            return Err(config(
                "set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs no key".to_owned(),
            ));
        }
        let mut builder = Self::builder().api_key(key.unwrap_or_default());
        if let Some(url) = url {
            builder = builder.base_url(url);
        }
        builder.model(read("OPENAI_MODEL").unwrap_or_default()).build()
    }

    /// The same provider with another model.
    #[must_use]
    pub fn with_model(&self, model: impl Into<Text>) -> Self {
        let model = model.into();
        let mut info = self.0.info.clone();
        info.model = model.clone();
        let config = OpenAiConfig { model, ..self.0.config.clone() };
        Self::from_parts(config, info, Arc::clone(&self.0.transport))
    }

    pub(super) fn from_parts(
        config: OpenAiConfig,
        info: ModelInfo,
        transport: Arc<dyn Transport>,
    ) -> Self {
        Self(Arc::new(Inner { config, info, transport }))
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("OpenAi").field(&self.0.config).finish()
    }
}

impl Provider for OpenAi {
    fn info(&self) -> &ModelInfo {
        &self.0.info
    }

    fn stream_completion(
        &self,
        request: Request,
    ) -> BoxFuture<'static, Result<ChunkStream, ProviderError>> {
        let inner = Arc::clone(&self.0);
        async move {
            let chunks = inner.stream(&request).await?;
            let chunks = chunks
                .map(move |item| item.map_err(|error| inner.config.secrets().strike_error(error)));
            Ok(Box::pin(chunks) as ChunkStream)
        }
        .boxed()
    }
}

impl Inner {
    async fn stream(
        &self,
        request: &Request,
    ) -> Result<BodyChunks<BodyStream, OpenAiDecoder>, ProviderError> {
        let config = &self.config;
        request::check(request, config.capabilities)?;
        let http = self.http(request::body(request, &config.model, config.max_tokens_field())?);
        let start = Instant::now();
        let deadline = Deadline::earlier(
            Deadline::new(start, TimeoutKind::FirstByte, config.timeouts.first_byte),
            Deadline::new(start, TimeoutKind::Total, config.timeouts.total),
        );
        let response = within(deadline, self.transport.send(http)).await?;
        let response = response.map_err(|error| error.into_provider_error(0))?;
        if !(200..300).contains(&response.status) {
            return Err(self.failure(response, deadline).await);
        }
        let typer = ContentTyper::new(&config.thinking, &config.tools);
        let decoder = OpenAiDecoder::new(config.limits);
        Ok(BodyChunks::new(response.body, decoder, typer, config.timeouts, start))
    }

    fn http(&self, body: Vec<Bytes>) -> HttpRequest {
        let mut http = HttpRequest::new("POST", self.config.endpoint())
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .header("cache-control", "no-store")
            .body(body);
        if let Some(key) = &self.config.api_key {
            http = http.header("authorization", format!("Bearer {}", key.expose_secret()));
        }
        for (name, value) in &self.config.headers {
            http = http.header(name.clone(), value.expose_secret());
        }
        http
    }

    /// What an error status means; a body that does not come is done without.
    async fn failure(
        &self,
        mut response: HttpResponse,
        deadline: Option<Deadline>,
    ) -> ProviderError {
        let body = within(deadline, read_start(&mut response.body)).await.unwrap_or_default();
        let body = String::from_utf8_lossy(&body);
        let error = status_error(&response, &body, &self.config.secrets());
        ProviderError::Status(Box::new(error))
    }
}

/// The first bytes of a body, as far as it arrives.
async fn read_start(body: &mut BodyStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(Ok(read)) = body.next().await {
        bytes.extend_from_slice(&read);
        if bytes.len() >= MAX_ERROR_BYTES {
            break;
        }
    }
    bytes.truncate(MAX_ERROR_BYTES);
    bytes
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
