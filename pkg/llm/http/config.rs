//! The configuration of a provider over HTTP.

use std::{sync::Arc, time::Duration};

use super::{Authorize, Secret, redact::SecretRedactor};
use crate::{
    RetryPolicy, Timeouts,
    catalog::narrowed,
    sse::SseLimits,
    transport::{UrlAddress, redact_url},
};
use forgeline_parser::{ThinkingDialect, ToolDialect};
use forgeline_types::{Capabilities, Text, debug_fields, setters};

/// The number of bytes of a prompt that a slow machine reads per second: about 60 tokens.
const BYTES_A_SECOND: u64 = 256;

/// The configuration of a provider over HTTP. `Debug` shows neither the key nor header values.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The URL of the API, with or without the version in its path, a trailing slash, the path of the
    /// method, and a query. Default: the vendor's.
    pub base_url: Text,
    /// The model. Default: empty, which lets the server choose, as local servers do.
    pub model: Text,
    /// The API key. Default: none, as for local servers.
    pub api_key: Option<Secret>,
    /// The name of the account, which must not be secret: signatures and ids of an answer are sent back only to the same account.
    /// Set it if one account has several keys, or headers made for each request. Default: empty, in which case
    /// four hexadecimal digits are derived from the key and from headers that contain one.
    pub account: Text,
    /// Additional headers, such as Azure's `api-key`. Default: none.
    pub headers: Vec<(Text, Secret)>,
    /// The source of headers made for each request. Default: none.
    pub authorize: Option<Arc<dyn Authorize>>,
    /// The dialect of reasoning in text. Default: the protocol's.
    pub thinking: ThinkingDialect,
    /// The dialect of tool calls in text; reasoning tags inside calls are left alone. Default:
    /// recognized by their openers.
    pub tools: ToolDialect,
    /// Limits on the response. Default: [`SseLimits::default`].
    pub limits: SseLimits,
    /// The time limits. Default: [`Timeouts::default`].
    pub timeouts: Timeouts,
    /// The policy for retrying a failed request. Default: [`RetryPolicy::default`].
    pub retry: RetryPolicy,
    /// The model's capabilities. Default: those of the protocol, less what the model is known to
    /// lack ([`ModelCard`](crate::ModelCard)).
    pub capabilities: Capabilities,
    /// The capabilities of the protocol, unless the capabilities were set explicitly.
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
    /// Creates the configuration for the vendor at `base_url`: no key, no model, everything else as
    /// documented.
    #[must_use]
    pub fn new(base_url: &str, capabilities: Capabilities) -> Self {
        Self {
            base_url: Text::from(base_url),
            model: Text::new(),
            api_key: None,
            account: Text::new(),
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
        account(into Text),
        thinking(ThinkingDialect),
        tools(ToolDialect),
        limits(SseLimits),
        timeouts(Timeouts),
        retry(RetryPolicy),
    }

    /// Returns the same configuration for `model`, with the known facts about that model.
    pub(super) fn of_model(mut self, model: Text) -> Self {
        self.model = model;
        if let Some(protocol) = self.protocol_capabilities {
            self.capabilities = narrowed(protocol, &self.model);
        }
        self
    }

    /// Returns the limits for a request of `bytes`, extended by the time for which a server may read the prompt before the
    /// answer begins.
    pub(super) fn timeouts_for(&self, bytes: usize) -> Timeouts {
        let (mut timeouts, prefill) = (self.timeouts, self.prefill(bytes));
        for limit in [&mut timeouts.first_byte, &mut timeouts.idle, &mut timeouts.content] {
            if !limit.is_zero() {
                *limit = limit.saturating_add(prefill);
            }
        }
        timeouts
    }

    /// Returns the time that a server on this machine may need to read a request of `bytes`, often without
    /// sending anything; zero for other servers.
    fn prefill(&self, bytes: usize) -> Duration {
        let name = UrlAddress::new(&self.base_url).host;
        let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
        let is_local = matches!(name, "localhost" | "[::1]") || name.starts_with("127.");
        if is_local { Duration::from_secs(bytes as u64 / BYTES_A_SECOND) } else { Duration::ZERO }
    }

    /// Returns the redactor of everything that errors must not show; `authorised` are the headers of one request.
    pub(super) fn redactor(&self, authorised: &[(Text, Secret)]) -> SecretRedactor {
        let mut redactor = SecretRedactor::default();
        if let Some(key) = &self.api_key {
            redactor.guess(key.expose());
        }
        for (_, value) in self.headers.iter().chain(authorised) {
            redactor.header(value.expose());
        }
        redactor.url(&self.base_url);
        redactor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Found: V18
    #[test]
    fn a_long_prompt_gets_more_time_on_this_machine_alone() {
        let prefill =
            |url: &str, bytes| HttpConfig::new(url, Capabilities::ALL).prefill(bytes).as_secs();
        let rows = [
            ("http://127.0.0.1:8080", 256_000, 1000),
            ("http://localhost/v1", 100, 0),
            ("http://[::1]:1", 25_600, 100),
            ("https://api.acme.example", 256_000, 0),
        ];
        for (url, bytes, want) in rows {
            assert_eq!(prefill(url, bytes), want, "{url}");
        }
    }
}
