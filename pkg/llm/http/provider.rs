//! The provider: requests go out, chunks come in.

use std::{fmt, future::Future, sync::Arc};

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;

use super::{
    HttpBuilder, HttpConfig, WireFormat, capabilities, config::config, secrets::Secrets,
    status::status_error,
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
        let model = model.into();
        let mut info = self.0.info.clone();
        info.model = model.clone();
        let config = HttpConfig { model, ..self.0.config.clone() };
        Self::from_parts(self.0.wire.clone(), config, info, Arc::clone(&self.0.transport))
    }

    /// How it is set up.
    #[must_use]
    pub fn config(&self) -> &HttpConfig {
        &self.0.config
    }

    pub(super) fn from_parts(
        wire: W,
        config: HttpConfig,
        info: ModelInfo,
        transport: Arc<dyn Transport>,
    ) -> Self {
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
        request: Request,
    ) -> BoxFuture<'static, Result<ChunkStream, ProviderError>> {
        let inner = Arc::clone(&self.0);
        async move {
            let (chunks, secrets) = inner.stream(&request).await?;
            let chunks = chunks.map(move |item| item.map_err(|error| secrets.strike_error(error)));
            Ok(Box::pin(chunks) as ChunkStream)
        }
        .boxed()
    }

    fn with_model(&self, model: &str) -> Option<Arc<dyn Provider>> {
        Some(Arc::new(Self::with_model(self, model)))
    }
}

impl<W: WireFormat> Inner<W> {
    async fn stream(
        &self,
        request: &Request,
    ) -> Result<(BodyChunks<BodyStream, W::Decoder>, Secrets), ProviderError> {
        let config = &self.config;
        capabilities::check(request, config.capabilities, W::PROVIDER)?;
        let body = self.wire.body(request, config)?;
        let start = Instant::now();
        let deadline = Deadline::earlier(
            Deadline::new(start, TimeoutKind::FirstByte, config.timeouts.first_byte),
            Deadline::new(start, TimeoutKind::Total, config.timeouts.total),
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
        let chunks = BodyChunks::new(response.body, decoder, typer, config.timeouts, start);
        Ok((chunks, secrets))
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
    let body = within(deadline, read_start(&mut response.body)).await.unwrap_or_default();
    let body = String::from_utf8_lossy(&body);
    ProviderError::Status(Box::new(status_error(&response, &body, secrets)))
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
