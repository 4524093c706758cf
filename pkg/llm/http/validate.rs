//! Checks of a configuration, before a provider is built.

use http::header::{HeaderName, HeaderValue};

use super::{HttpConfig, WireFormat, url};
use crate::{
    ProviderError,
    transport::{
        client::{NOT_ASCII, is_http_url},
        redact_url,
    },
};

/// Checks that a provider can work with this configuration; the error says what to do.
pub(super) fn validate<W: WireFormat>(config: &HttpConfig, wire: &W) -> Result<(), ProviderError> {
    let base = config.base_url.trim();
    if !url::host(base).is_ascii() {
        return Err(ProviderError::config(format!("base URL {:?}: {NOT_ASCII}", redact_url(base))));
    }
    if !is_http_url(base) {
        return Err(ProviderError::config(format!(
            "base URL {:?} is not an HTTP URL; expected something like http://127.0.0.1:8080",
            redact_url(base),
        )));
    }
    let is_local = base.starts_with("http://");
    let is_vendor = url::host(base) == url::host(&W::defaults().base_url);
    if config.model.is_empty() && (!is_local || W::NEEDS_MODEL && is_vendor) {
        let model = W::ENV.model();
        return Err(ProviderError::config(format!(
            "no model is set; set one, for example in {model}"
        )));
    }
    let is_authorised =
        config.api_key.is_some() || !config.headers.is_empty() || config.authorize.is_some();
    if !is_authorised && !is_local && config.base_url == W::defaults().base_url {
        return Err(ProviderError::config(format!("no key is set; set {}", W::ENV.api_key())));
    }
    if config.retry.max_attempts == 0 {
        return Err(ProviderError::config(
            "max_attempts is 0; it counts the first attempt, so expected 1 or more",
        ));
    }
    let key = config.api_key.as_ref().map(|key| wire.key_header(key.expose()));
    if let Some((name, value)) = key {
        header(&name, &value)?;
    }
    config.headers.iter().try_for_each(|(name, value)| header(name, value.expose()))
}

/// Checks that the header can be sent over HTTP; its value is not shown.
fn header(name: &str, value: &str) -> Result<(), ProviderError> {
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Err(ProviderError::config(format!("invalid header name {name:?}")));
    }
    if HeaderValue::from_str(value).is_err() {
        let message =
            format!("the value of header {name:?} has a line break or a control character");
        return Err(ProviderError::config(message));
    }
    Ok(())
}
