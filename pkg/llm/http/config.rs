//! How a provider over HTTP is set up.

use std::{fmt, sync::Arc};

use reqwest::{
    Url,
    header::{HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret as _, SecretString};

use super::{Authorize, WireFormat, redact::Redactor};
use crate::{
    llm::{
        ModelCard, ProviderError, RetryPolicy, Timeouts,
        catalog::narrowed,
        parser::{ThinkingDialect, ToolDialect},
        sse::SseLimits,
        transport::Address,
    },
    types::{Capabilities, ModelInfo, Text},
};

/// How a provider talks to its server. `Debug` shows neither the key nor header values.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpConfig {
    /// Where the API is, in any spelling that [`endpoint`](super::endpoint) reads. Default: the
    /// vendor's.
    pub base_url: Text,
    /// The model. Default: empty, which lets the server choose, as local servers do.
    pub model: Text,
    /// The key. Default: none, as for local servers.
    pub api_key: Option<SecretString>,
    /// Further headers, such as Azure's `api-key`. Default: none.
    pub headers: Vec<(Text, SecretString)>,
    /// Makes headers for each request. Default: none.
    pub authorize: Option<Arc<dyn Authorize>>,
    /// How reasoning is written in text. Default: the protocol's.
    pub thinking: ThinkingDialect,
    /// How tool calls are written in text; reasoning tags inside them are left alone. Default:
    /// recognised by their opener.
    pub tools: ToolDialect,
    /// Bounds on the response. Default: [`SseLimits::default`].
    pub limits: SseLimits,
    /// How long to wait. Default: [`Timeouts::default`].
    pub timeouts: Timeouts,
    /// When a failed request is sent again. Default: [`RetryPolicy::default`].
    pub retry: RetryPolicy,
    /// What the model can do. Default: what the protocol can carry, less what the model is known to
    /// lack ([`ModelCard`]).
    pub capabilities: Capabilities,
    /// What the protocol can carry, unless the capabilities were set by hand.
    pub(super) protocol_capabilities: Option<Capabilities>,
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("HttpConfig")
            .field("base_url", &Address::new(&self.base_url).redacted("…"))
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "[set]"))
            .field("headers", &names)
            .field("authorize", &self.authorize.as_ref().map(|_| "[set]"))
            .field("timeouts", &self.timeouts)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

impl HttpConfig {
    /// The setup for the vendor at `base_url`: no key, no model, everything else as documented.
    #[must_use]
    pub fn new(base_url: &str, capabilities: Capabilities) -> Self {
        Self {
            base_url: Text::from(base_url),
            model: Text::new(),
            api_key: None,
            headers: Vec::new(),
            authorize: None,
            thinking: ThinkingDialect::AUTO,
            tools: ToolDialect::AUTO,
            limits: SseLimits::default(),
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
            capabilities,
            protocol_capabilities: None,
        }
    }

    /// Sets [`thinking`](Self::thinking).
    #[must_use]
    pub fn thinking(mut self, dialect: ThinkingDialect) -> Self {
        self.thinking = dialect;
        self
    }

    /// The same setup with this model, and what is known of it.
    pub(super) fn of_model(mut self, model: Text) -> Self {
        self.model = model;
        if let Some(protocol) = self.protocol_capabilities {
            self.capabilities = narrowed(protocol, &self.model);
        }
        self
    }

    /// Who answers.
    pub(super) fn info<W: WireFormat>(&self) -> ModelInfo {
        let card = ModelCard::for_model(&self.model);
        ModelInfo::new(W::PROVIDER, self.model.clone())
            .capabilities(self.capabilities)
            .context_tokens(card.and_then(|card| card.context_tokens))
    }

    /// Returns the redactor of what no error may show.
    pub(super) fn redactor(&self, authorised: &[(Text, SecretString)]) -> Redactor {
        let mut redactor = Redactor::default();
        if let Some(key) = &self.api_key {
            redactor.guess(key.expose_secret());
        }
        for (_, value) in self.headers.iter().chain(authorised) {
            redactor.header(value.expose_secret());
        }
        redactor.url(&self.base_url);
        redactor
    }

    /// Fails when the provider cannot work so, and says what to do.
    pub(super) fn validate<W: WireFormat>(&self, wire: &W) -> Result<(), ProviderError> {
        let base = self.base_url.trim();
        let is_http = base.starts_with("http://") || base.starts_with("https://");
        // The parser finds a host in `http:///v1`, too.
        let has_host = Url::parse(base).is_ok_and(|url| url.has_host());
        if !is_http || !has_host || Address::new(base).host.is_empty() {
            return Err(config(format!(
                "the base URL {:?} is no HTTP address; it looks like http://127.0.0.1:8080",
                Address::new(base).redacted("…"),
            )));
        }
        let is_local = base.starts_with("http://");
        let is_vendor = Address::new(base).host == Address::new(&W::defaults().base_url).host;
        if self.model.is_empty() && (!is_local || W::NEEDS_MODEL && is_vendor) {
            return Err(config(format!(
                "no model is named; set one, such as with {}",
                W::ENV.model
            )));
        }
        let is_authorised =
            self.api_key.is_some() || !self.headers.is_empty() || self.authorize.is_some();
        if !is_authorised && !is_local && self.base_url == W::defaults().base_url {
            return Err(config(format!("there is no key; set {}", W::ENV.api_key)));
        }
        if self.retry.max_attempts == 0 {
            return Err(config(
                "max_attempts counts the first attempt; it is 1 or more".to_owned(),
            ));
        }
        let key = self.api_key.as_ref().map(|key| wire.key_header(key.expose_secret()));
        if let Some((name, value)) = key {
            header(&name, &value)?;
        }
        self.headers.iter().try_for_each(|(name, value)| header(name, value.expose_secret()))
    }
}

/// Fails when HTTP cannot carry the header; its value is not shown.
fn header(name: &str, value: &str) -> Result<(), ProviderError> {
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Err(config(format!("{name:?} is no name of a header")));
    }
    if HeaderValue::from_str(value).is_err() {
        return Err(config(format!(
            "the value of {name:?} has a line break or a control character"
        )));
    }
    Ok(())
}

pub(super) fn config(message: String) -> ProviderError {
    ProviderError::Config { message: Text::from(message) }
}
