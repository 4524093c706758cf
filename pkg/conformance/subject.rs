//! What a provider brings to be checked.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use serde_json::json;

use super::Answer;
use crate::{
    llm::{
        Provider, ProviderError, RetryPolicy, Timeouts,
        http::{HttpBuilder, WireFormat},
        transport::Transport,
    },
    types::{Capabilities, ErrorCode, Text},
};

/// A provider that can be printed, as every provider should.
pub trait Candidate: Provider + fmt::Debug {}

impl<P: Provider + fmt::Debug> Candidate for P {}

/// A provider under test, and its vendor's wire format.
///
/// Two methods are needed: [`provider`](Self::provider), which sets it up, and
/// [`answer`](Self::answer), which writes what a server would send. The others have defaults that fit
/// many vendors.
pub trait Subject: Sync {
    /// The provider, set up so: with this transport, key, model and so on.
    ///
    /// # Errors
    ///
    /// What the provider's own setup fails with.
    fn provider(&self, setup: &Setup) -> Result<Arc<dyn Candidate>, ProviderError>;

    /// The body of `answer` as the vendor would send it, a frame for each event and each delta in a
    /// frame of its own; `None` when the protocol has no such thing.
    fn answer(&self, answer: &Answer) -> Option<Vec<Bytes>>;

    /// An event of a kind, or with fields, that nobody knows yet; it is put between the others.
    /// Default: none.
    fn unknown(&self) -> Option<Bytes> {
        None
    }

    /// What the server sends to show that it lives while the model is silent. Default: none.
    fn comment(&self) -> Option<Bytes> {
        None
    }

    /// The `content-type` of an answer. Default: `text/event-stream`.
    fn content_type(&self) -> &'static str {
        "text/event-stream"
    }

    /// The body of an error status. Default: as OpenAI writes it.
    fn error_body(&self, kind: ErrorCode, message: &str) -> Bytes {
        let words = [
            (ErrorCode::QuotaExhausted, "insufficient_quota"),
            (ErrorCode::RateLimited, "rate_limit_exceeded"),
        ];
        let word = words.iter().find(|(of, _)| *of == kind).map_or("error", |(_, word)| word);
        let error = json!({ "message": message, "type": word, "param": null, "code": word });
        Bytes::from(json!({ "error": error }).to_string())
    }

    /// The body of the list of models, with `model` in it. Default: as OpenAI writes it.
    fn models_body(&self, model: &str) -> Bytes {
        Bytes::from(json!({ "object": "list", "data": [{ "id": model }] }).to_string())
    }

    /// Checks that do not apply to this provider, by name, each with the reason, which the report
    /// shows. Default: none.
    fn exempt(&self) -> &[(&str, &str)] {
        &[]
    }
}

/// How a [`Subject`] is to set up its provider.
#[derive(Clone)]
#[non_exhaustive]
pub struct Setup {
    /// Where requests go. No socket is opened.
    pub transport: Arc<dyn Transport>,
    /// The key, which must not be seen again but in a header.
    pub key: String,
    /// The model.
    pub model: Text,
    /// How long to wait.
    pub timeouts: Timeouts,
    /// When to try again.
    pub retry: RetryPolicy,
    /// What the model can do; `None` for what the provider declares by itself.
    pub capabilities: Option<Capabilities>,
}

impl Setup {
    /// A builder of a provider over HTTP, set up so.
    #[must_use]
    pub fn http<W: WireFormat>(&self) -> HttpBuilder<W> {
        let builder = HttpBuilder::<W>::default()
            .transport(Arc::clone(&self.transport))
            .api_key(self.key.clone())
            .model(self.model.clone())
            .timeouts(self.timeouts)
            .retry(self.retry);
        match self.capabilities {
            Some(capabilities) => builder.capabilities(capabilities),
            None => builder,
        }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Setup")
            .field("model", &self.model)
            .field("timeouts", &self.timeouts)
            .field("retry", &self.retry)
            .field("capabilities", &self.capabilities)
            .finish_non_exhaustive()
    }
}
