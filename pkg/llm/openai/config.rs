//! How the provider is set up.

use std::{fmt, sync::Arc};

use secrecy::{ExposeSecret as _, SecretString};

use super::{OpenAi, secrets::Secrets};
use crate::{
    llm::{
        ProviderError, Timeouts,
        parser::{ThinkingDialect, ToolDialect},
        sse::SseLimits,
        transport::{ReqwestTransport, Transport},
    },
    types::{Capabilities, ModelInfo, Text},
};

const BASE_URL: &str = "https://api.openai.com/v1";

/// How [`OpenAi`] talks to its server. `Debug` shows neither the key nor header values.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenAiConfig {
    /// Where the API is. Default: `https://api.openai.com/v1`.
    ///
    /// A URL without a path gets `/v1`; `/chat/completions` is appended unless it is there. A query
    /// is kept, as Azure's `api-version` needs it.
    pub base_url: Text,
    /// The model. Default: empty, which lets the server choose, as local servers do.
    pub model: Text,
    /// The key, sent as a bearer token. Default: none, as for local servers.
    pub api_key: Option<SecretString>,
    /// Further headers, such as Azure's `api-key`. Default: none.
    pub headers: Vec<(Text, SecretString)>,
    /// How reasoning is written in text. Default: recognised by its opener.
    pub thinking: ThinkingDialect,
    /// How tool calls are written in text; reasoning tags inside them are left alone. Default:
    /// recognised by their opener.
    pub tools: ToolDialect,
    /// Bounds on the response. Default: [`SseLimits::default`].
    pub limits: SseLimits,
    /// How long to wait. Default: [`Timeouts::default`].
    pub timeouts: Timeouts,
    /// What the model can do. Default: what the protocol can carry.
    pub capabilities: Capabilities,
}

impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("OpenAiConfig")
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "[set]"))
            .field("headers", &names)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

impl Default for OpenAiConfig {
    fn default() -> Self {
        Self {
            base_url: Text::from(BASE_URL),
            model: Text::new(),
            api_key: None,
            headers: Vec::new(),
            thinking: ThinkingDialect::AUTO,
            tools: ToolDialect::AUTO,
            limits: SseLimits::default(),
            timeouts: Timeouts::default(),
            capabilities: Capabilities {
                streaming: true,
                tools: true,
                parallel_tools: true,
                vision: true,
                documents: true,
                prompt_caching: false,
                structured_output: true,
                thinking: true,
            },
        }
    }
}

impl OpenAiConfig {
    /// Where requests go.
    pub(super) fn endpoint(&self) -> Text {
        let url = self.base_url.trim();
        let (url, query) = match url.split_once('?') {
            Some((url, query)) => (url, format!("?{query}")),
            None => (url, String::new()),
        };
        let url = url.trim_end_matches('/');
        let host = url.split_once("://").map_or(url, |(_, host)| host);
        Text::from(if url.ends_with("/chat/completions") {
            format!("{url}{query}")
        } else if host.contains('/') {
            format!("{url}/chat/completions{query}")
        } else {
            format!("{url}/v1/chat/completions{query}")
        })
    }

    /// The name of the field for the most tokens of an answer: OpenAI has renamed it, others have not.
    pub(super) fn max_tokens_field(&self) -> &'static str {
        if self.base_url.contains("api.openai.com") || self.base_url.contains(".openai.azure.com") {
            "max_completion_tokens"
        } else {
            "max_tokens"
        }
    }

    /// What no error may show.
    pub(super) fn secrets(&self) -> Secrets<'_> {
        let headers = self.headers.iter().map(|(_, value)| value);
        self.api_key.iter().chain(headers).map(SecretString::expose_secret).collect()
    }

    fn validate(&self) -> Result<(), ProviderError> {
        let base = self.base_url.trim();
        if !base.starts_with("http://") && !base.starts_with("https://") {
            return Err(config(format!(
                "the base URL {base:?} is no HTTP address; it looks like http://127.0.0.1:8080/v1"
            )));
        }
        let is_local = base.starts_with("http://");
        if self.model.is_empty() && !is_local {
            return Err(config("no model is named; set one, such as with OPENAI_MODEL".to_owned()));
        }
        Ok(())
    }
}

pub(super) fn config(message: String) -> ProviderError {
    ProviderError::Config { message: Text::from(message) }
}

/// Sets up an [`OpenAi`].
///
/// # Examples
///
/// ```
/// use forgeline::llm::openai::OpenAi;
///
/// let provider = OpenAi::builder().base_url("http://127.0.0.1:8080").model("qwen3").build()?;
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
#[derive(Default)]
pub struct OpenAiBuilder {
    config: OpenAiConfig,
    transport: Option<Arc<dyn Transport>>,
}

impl fmt::Debug for OpenAiBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.config, formatter)
    }
}

impl OpenAiBuilder {
    /// Sets [`base_url`](OpenAiConfig::base_url).
    #[must_use]
    pub fn base_url(mut self, url: impl Into<Text>) -> Self {
        self.config.base_url = url.into();
        self
    }

    /// Sets [`model`](OpenAiConfig::model).
    #[must_use]
    pub fn model(mut self, model: impl Into<Text>) -> Self {
        self.config.model = model.into();
        self
    }

    /// Sets [`api_key`](OpenAiConfig::api_key); an empty key is none.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        let key: String = key.into();
        self.config.api_key = (!key.trim().is_empty()).then(|| SecretString::from(key.trim()));
        self
    }

    /// Adds one of [`headers`](OpenAiConfig::headers).
    #[must_use]
    pub fn header(mut self, name: impl Into<Text>, value: impl Into<String>) -> Self {
        let value: String = value.into();
        self.config.headers.push((name.into(), SecretString::from(value)));
        self
    }

    /// Sets [`thinking`](OpenAiConfig::thinking).
    #[must_use]
    pub fn thinking(mut self, dialect: ThinkingDialect) -> Self {
        self.config.thinking = dialect;
        self
    }

    /// Sets [`tools`](OpenAiConfig::tools).
    #[must_use]
    pub fn tools_dialect(mut self, dialect: ToolDialect) -> Self {
        self.config.tools = dialect;
        self
    }

    /// Sets [`limits`](OpenAiConfig::limits).
    #[must_use]
    pub fn limits(mut self, limits: SseLimits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Sets [`timeouts`](OpenAiConfig::timeouts).
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.config.timeouts = timeouts;
        self
    }

    /// Sets [`capabilities`](OpenAiConfig::capabilities).
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.config.capabilities = capabilities;
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
    /// [`ProviderError::Config`] when the base URL is no HTTP address, when a remote server is asked
    /// without naming a model, or when the HTTP client cannot be built.
    pub fn build(self) -> Result<OpenAi, ProviderError> {
        self.config.validate()?;
        let transport = match self.transport {
            Some(transport) => transport,
            None => {
                Arc::new(ReqwestTransport::new().map_err(|error| error.into_provider_error(0))?)
            }
        };
        let info = ModelInfo::new("openai", self.config.model.clone())
            .capabilities(self.config.capabilities);
        Ok(OpenAi::from_parts(self.config, info, transport))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_in_every_spelling_lead_to_the_endpoint() {
        #[rustfmt::skip]
        let cases = [
            ("http://h:8080",                   "http://h:8080/v1/chat/completions"),
            ("http://h:8080/",                  "http://h:8080/v1/chat/completions"),
            ("http://h:8080/v1",                "http://h:8080/v1/chat/completions"),
            ("http://h:8080/v1/",               "http://h:8080/v1/chat/completions"),
            ("https://h/openai/v1",             "https://h/openai/v1/chat/completions"),
            ("https://h/v1/chat/completions",   "https://h/v1/chat/completions"),
            ("https://h/d/x?api-version=1",     "https://h/d/x/chat/completions?api-version=1"),
        ];
        for (base, want) in cases {
            let config = OpenAiConfig { base_url: Text::from(base), ..OpenAiConfig::default() };
            assert_eq!(config.endpoint(), want);
        }
    }

    #[test]
    fn a_wrong_setup_fails_at_the_start_and_says_what_to_do() {
        let error = OpenAi::builder().base_url("localhost:8080").build().unwrap_err();
        assert!(error.to_string().contains("http://127.0.0.1:8080/v1"), "{error}");
        let error = OpenAi::builder().api_key("k").build().unwrap_err();
        assert!(error.to_string().contains("OPENAI_MODEL"), "{error}");
    }

    #[test]
    fn neither_key_nor_header_values_are_shown() {
        let builder = OpenAi::builder().model("m").api_key("sk-secret").header("api-key", "hidden");
        let shown = format!("{builder:?}") + &format!("{:?}", builder.build().unwrap());
        assert!(!shown.contains("sk-secret") && !shown.contains("hidden"), "{shown}");
        assert!(shown.contains("api-key"), "{shown}");
    }
}
