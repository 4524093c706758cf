//! The setup of a provider over HTTP.

use std::sync::Arc;

use secrecy::{ExposeSecret as _, SecretString};

use super::{Authorize, redact::Redactor};
use crate::{
    llm::{
        RetryPolicy, Timeouts,
        catalog::narrowed,
        parser::{ThinkingDialect, ToolDialect},
        sse::SseLimits,
        transport::redact_url,
    },
    types::{Capabilities, Text, debug_fields, setters},
};

/// The setup of a provider over HTTP. `Debug` shows neither the key nor header values.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The address of the API, with or without the version in its path, a slash or the path of the
    /// method at its end, and a query. Default: the vendor's.
    pub base_url: Text,
    /// The model. Default: empty, which lets the server choose, as local servers do.
    pub model: Text,
    /// The key. Default: none, as for local servers.
    pub api_key: Option<SecretString>,
    /// Further headers, such as Azure's `api-key`. Default: none.
    pub headers: Vec<(Text, SecretString)>,
    /// Makes headers for each request. Default: none.
    pub authorize: Option<Arc<dyn Authorize>>,
    /// The dialect of reasoning in text. Default: the protocol's.
    pub thinking: ThinkingDialect,
    /// The dialect of tool calls in text; reasoning tags inside them are left alone. Default:
    /// recognised by their opener.
    pub tools: ToolDialect,
    /// Bounds on the response. Default: [`SseLimits::default`].
    pub limits: SseLimits,
    /// The times to wait. Default: [`Timeouts::default`].
    pub timeouts: Timeouts,
    /// The policy by which a failed request is retried. Default: [`RetryPolicy::default`].
    pub retry: RetryPolicy,
    /// The model's capabilities. Default: what the protocol can carry, less what the model is known to
    /// lack ([`ModelCard`](crate::llm::ModelCard)).
    pub capabilities: Capabilities,
    /// The capabilities of the protocol, unless the capabilities were set by hand.
    pub(super) protocol_capabilities: Option<Capabilities>,
}

debug_fields! { HttpConfig, config:
    base_url = redact_url(&config.base_url),
    model = config.model,
    api_key = config.api_key.as_ref().map(|_| "[set]"),
    headers = config.headers.iter().map(|(name, _)| name).collect::<Vec<_>>(),
    authorize = config.authorize.as_ref().map(|_| "[set]"),
    timeouts = config.timeouts,
    retry = config.retry,
}

impl HttpConfig {
    /// Creates the setup for the vendor at `base_url`: no key, no model, everything else as
    /// documented.
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

    setters! {
        HttpConfig:
        thinking(ThinkingDialect),
        tools(ToolDialect),
        limits(SseLimits),
        timeouts(Timeouts),
        retry(RetryPolicy),
    }

    /// Returns the same setup with this model, and what is known of it.
    pub(super) fn of_model(mut self, model: Text) -> Self {
        self.model = model;
        if let Some(protocol) = self.protocol_capabilities {
            self.capabilities = narrowed(protocol, &self.model);
        }
        self
    }

    /// Returns the redactor of what no error may show; `authorised` are the headers of one request.
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
}
