//! The builder of a provider over HTTP.

use std::{fmt, sync::Arc};

use super::{Authorize, HttpConfig, HttpProvider, Secret, WireFormat, validate::validate};
use crate::{
    ProviderError, RetryPolicy, Timeouts,
    sse::SseLimits,
    transport::{HttpTransport, Transport},
};
use forgeline_parser::{ThinkingDialect, ToolDialect};
use forgeline_types::{Capabilities, Text, setters};

/// A builder of a provider over HTTP.
///
/// Options that are not set have the vendor's defaults, see [`HttpConfig`]. Only [`HttpProvider::from_env`] reads
/// the environment.
///
/// # Examples
///
/// ```
/// use forgeline::llm::openai::OpenAi;
///
/// let provider = OpenAi::builder().base_url("http://127.0.0.1:8080").model("qwen3").build()?;
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
pub struct HttpBuilder<W> {
    wire: W,
    pub(super) config: HttpConfig,
    knows_capabilities: bool,
    transport: Option<Arc<dyn Transport>>,
}

impl<W: WireFormat> Default for HttpBuilder<W> {
    fn default() -> Self {
        Self {
            wire: W::default(),
            config: W::defaults(),
            knows_capabilities: false,
            transport: None,
        }
    }
}

impl<W> fmt::Debug for HttpBuilder<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.config, formatter)
    }
}

impl<W: WireFormat> HttpBuilder<W> {
    /// Changes the options of the vendor's format.
    #[must_use]
    pub fn wire(mut self, change: impl FnOnce(&mut W)) -> Self {
        change(&mut self.wire);
        self
    }

    setters! {
        HttpConfig in config:
        base_url(into Text),
        model(into Text),
        account(into Text),
        thinking(ThinkingDialect),
        limits(SseLimits),
        timeouts(Timeouts),
        retry(RetryPolicy),
    }

    /// Sets [`authorize`](HttpConfig::authorize).
    #[must_use]
    pub fn authorize(mut self, hook: impl Authorize + 'static) -> Self {
        self.config.authorize = Some(Arc::new(hook));
        self
    }

    /// Sets [`tools`](HttpConfig::tools).
    #[must_use]
    pub fn tools_dialect(mut self, dialect: ToolDialect) -> Self {
        self.config.tools = dialect;
        self
    }

    /// Sets [`api_key`](HttpConfig::api_key); an empty key means none.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<Secret>) -> Self {
        let key: Secret = key.into();
        let trimmed = key.expose().trim();
        self.config.api_key = (!trimmed.is_empty()).then(|| Secret::from(trimmed));
        self
    }

    /// Adds a header to [`headers`](HttpConfig::headers).
    #[must_use]
    pub fn header(mut self, name: impl Into<Text>, value: impl Into<Secret>) -> Self {
        self.config.headers.push((name.into(), value.into()));
        self
    }

    /// Sets [`capabilities`](HttpConfig::capabilities), overriding what is known about the model.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.config.capabilities = capabilities;
        self.knows_capabilities = true;
        self
    }

    /// Sends requests with this HTTP client. It should follow no redirects.
    #[cfg(feature = "reqwest")]
    #[must_use]
    pub fn client(self, client: reqwest::Client) -> Self {
        self.transport(crate::transport::ReqwestTransport::from_client(client))
    }

    /// Sends requests through this transport.
    #[must_use]
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Builds the provider.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Config`] if the base URL is not an HTTP URL with a host, if no model is named for a
    /// server that needs one, if there is no key for the vendor's own server, if a header
    /// or the key cannot be sent over HTTP, if the maximum number of attempts is zero, or if the HTTP
    /// client cannot be built.
    pub fn build(mut self) -> Result<HttpProvider<W>, ProviderError> {
        validate(&self.config, &self.wire)?;
        let transport = match self.transport {
            Some(transport) => transport,
            None => Arc::new(own_transport(&self.config)?),
        };
        if !self.knows_capabilities {
            let capabilities = self.wire.capabilities(&self.config.base_url);
            self.config.protocol_capabilities = Some(capabilities);
        }
        let model = self.config.model.clone();
        Ok(HttpProvider::from_parts(self.wire, self.config.of_model(model), transport))
    }
}

impl<W: WireFormat> HttpProvider<W> {
    /// Creates a provider for this model at the vendor.
    ///
    /// # Errors
    ///
    /// As for [`HttpBuilder::build`].
    pub fn new(api_key: impl Into<Secret>, model: impl Into<Text>) -> Result<Self, ProviderError> {
        Self::builder().api_key(api_key).model(model).build()
    }

    /// Returns a builder with the vendor's defaults.
    #[must_use]
    pub fn builder() -> HttpBuilder<W> {
        HttpBuilder::default()
    }

    /// Creates a provider from the environment variables that [`WireFormat::ENV`] names: key, address
    /// and model.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Config`] if neither key nor base URL is set and the provider is not a
    /// local server, and as for [`HttpBuilder::build`].
    pub fn from_env() -> Result<Self, ProviderError> {
        let names = W::ENV;
        let read = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let (key, url) = (read(names.api_key()), read(names.base_url()));
        let is_local = W::defaults().base_url.starts_with("http://");
        if key.is_none() && url.is_none() && !is_local {
            return Err(ProviderError::config(format!(
                "set {}, or {} for a server that needs no key",
                names.api_key(),
                names.base_url()
            )));
        }
        let mut builder = Self::builder().api_key(key.unwrap_or_default());
        if let Some(url) = url {
            builder = builder.base_url(W::address(&url));
        }
        builder.model(read(names.model()).unwrap_or_default()).build()
    }
}

/// Builds the library's transport with this configuration.
pub(super) fn own_transport(config: &HttpConfig) -> Result<HttpTransport, ProviderError> {
    let transport = HttpTransport::with_connect_timeout(config.timeouts.connect);
    transport.map_err(|error| error.into_provider_error(0))
}
