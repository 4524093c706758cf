//! Sets up a provider over HTTP.

use std::{fmt, sync::Arc};

use secrecy::SecretString;

use super::{Authorize, HttpConfig, HttpProvider, WireFormat};
use crate::{
    llm::{
        ProviderError, RetryPolicy, Timeouts,
        parser::{ThinkingDialect, ToolDialect},
        sse::SseLimits,
        transport::{ReqwestTransport, Transport},
    },
    types::{Capabilities, Text},
};

/// Sets up a provider over HTTP.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "openai")] {
/// use forgeline::llm::openai::OpenAi;
///
/// let provider = OpenAi::builder().base_url("http://127.0.0.1:8080").model("qwen3").build()?;
/// # }
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
pub struct HttpBuilder<W> {
    wire: W,
    config: HttpConfig,
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
    /// Changes what is special about the vendor's format.
    #[must_use]
    pub fn wire(mut self, change: impl FnOnce(&mut W)) -> Self {
        change(&mut self.wire);
        self
    }

    /// Sets [`base_url`](HttpConfig::base_url).
    #[must_use]
    pub fn base_url(mut self, url: impl Into<Text>) -> Self {
        self.config.base_url = url.into();
        self
    }

    /// Sets [`model`](HttpConfig::model).
    #[must_use]
    pub fn model(mut self, model: impl Into<Text>) -> Self {
        self.config.model = model.into();
        self
    }

    /// Sets [`api_key`](HttpConfig::api_key); an empty key is none.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        let key: String = key.into();
        self.config.api_key = (!key.trim().is_empty()).then(|| SecretString::from(key.trim()));
        self
    }

    /// Adds one of [`headers`](HttpConfig::headers).
    #[must_use]
    pub fn header(mut self, name: impl Into<Text>, value: impl Into<String>) -> Self {
        let value: String = value.into();
        self.config.headers.push((name.into(), SecretString::from(value)));
        self
    }

    /// Sets [`authorize`](HttpConfig::authorize).
    #[must_use]
    pub fn authorize(mut self, hook: impl Authorize + 'static) -> Self {
        self.config.authorize = Some(Arc::new(hook));
        self
    }

    /// Sets [`thinking`](HttpConfig::thinking).
    #[must_use]
    pub fn thinking(mut self, dialect: ThinkingDialect) -> Self {
        self.config.thinking = dialect;
        self
    }

    /// Sets [`tools`](HttpConfig::tools).
    #[must_use]
    pub fn tools_dialect(mut self, dialect: ToolDialect) -> Self {
        self.config.tools = dialect;
        self
    }

    /// Sets [`limits`](HttpConfig::limits).
    #[must_use]
    pub fn limits(mut self, limits: SseLimits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Sets [`timeouts`](HttpConfig::timeouts).
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.config.timeouts = timeouts;
        self
    }

    /// Sets [`retry`](HttpConfig::retry).
    #[must_use]
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.config.retry = policy;
        self
    }

    /// Sets [`capabilities`](HttpConfig::capabilities), whatever is known of the model.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.config.capabilities = capabilities;
        self.knows_capabilities = true;
        self
    }

    /// Brings your own HTTP client. It should follow no redirects.
    #[must_use]
    pub fn client(self, client: reqwest::Client) -> Self {
        self.transport(ReqwestTransport::from_client(client))
    }

    /// Brings your own transport.
    #[must_use]
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// The provider.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Config`] when the base URL is no HTTP address with a host, when a server that
    /// needs it is asked without naming a model, when the vendor is asked without a key, when a header
    /// or the key cannot be sent by HTTP, when there is to be no attempt at all, or when the HTTP
    /// client cannot be built.
    pub fn build(mut self) -> Result<HttpProvider<W>, ProviderError> {
        self.config.validate(&self.wire)?;
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

/// The library's transport, set up so.
fn own_transport(config: &HttpConfig) -> Result<ReqwestTransport, ProviderError> {
    let transport = ReqwestTransport::with_connect_timeout(config.timeouts.connect);
    transport.map_err(|error| error.into_provider_error(0))
}

#[cfg(all(test, feature = "openai"))]
mod tests {
    use std::time::Duration;

    use super::own_transport;
    use crate::{
        llm::{Provider as _, ProviderError, RetryPolicy, Timeouts, openai::OpenAi},
        types::Capabilities,
    };

    #[test]
    fn what_cannot_work_fails_when_it_is_built_and_shows_no_secret() {
        let good = || OpenAi::builder().base_url("http://h").model("m");
        #[rustfmt::skip]
        let cases = [
            ("no scheme",    good().base_url("h:8080"),                  "no HTTP address"),
            ("no host",      good().base_url("http://"),                 "no HTTP address"),
            ("no host",      good().base_url("http:///v1"),              "no HTTP address"),
            ("a port",       good().base_url("http://me:pw-1@h:no/v1"),  "no HTTP address"),
            ("a name",       good().header("x y", "v"),                  "no name of a header"),
            ("a value",      good().header("x-y", "secret\nz"),          "\"x-y\""),
            ("a key",        good().api_key("secret\nz"),                "\"authorization\""),
            ("no attempt",   good().retry(RetryPolicy::NONE.max_attempts(0)), "max_attempts"),
        ];
        for (case, builder, says) in cases {
            let error = builder.build().unwrap_err();
            assert!(matches!(error, ProviderError::Config { .. }), "{case}: {error:?}");
            let said = error.to_string();
            assert!(said.contains(says), "{case}: {said}");
            assert!(!said.contains("secret") && !said.contains("pw-1"), "{case}: {said}");
        }
        for base in ["http://[::1]:8080/v1", " https://h?api-version=1 ", "http://u:p@h"] {
            assert!(good().base_url(base).build().is_ok(), "{base}");
        }
    }

    #[test]
    fn the_time_to_connect_reaches_the_transport() {
        let timeouts = Timeouts::default().connect(Duration::from_secs(7));
        let builder = OpenAi::builder().timeouts(timeouts);
        let shown = format!("{:?}", own_transport(&builder.config).unwrap());
        assert!(shown.contains("connect_timeout: Some(7s)"), "{shown}");
    }

    #[test]
    fn what_a_model_is_known_to_lack_is_declared_and_follows_the_model() {
        let provider = OpenAi::new("k", "gpt-3.5-turbo").unwrap();
        let info = provider.info();
        assert!(!info.capabilities.vision && info.capabilities.tools);
        assert_eq!(info.context_tokens, Some(16_385));
        assert_eq!(provider.config().capabilities, info.capabilities);

        let other = provider.with_model("gpt-4o");
        assert!(other.info().capabilities.vision && other.config().capabilities.vision);
        assert_eq!(other.info().context_tokens, Some(128_000));

        let unknown = other.with_model("my own model");
        assert!(unknown.info().capabilities.vision && unknown.info().capabilities.thinking);
        assert_eq!(unknown.info().context_tokens, None);
    }

    #[test]
    fn capabilities_set_by_hand_stay_whatever_the_model() {
        let mut by_hand = OpenAi::builder().config.capabilities;
        by_hand.tools = false;
        let builder = OpenAi::builder().api_key("k").model("gpt-3.5-turbo");
        let provider = builder.capabilities(by_hand).build().unwrap();
        for model in ["gpt-3.5-turbo", "o1-mini", "gpt-4o"] {
            let provider = provider.with_model(model);
            assert_eq!(provider.info().capabilities, by_hand, "{model}");
        }
        assert_ne!(by_hand, Capabilities::default());
    }
}
