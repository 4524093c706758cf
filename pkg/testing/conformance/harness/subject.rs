//! The provider under test.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use serde_json::json;

use super::Answer;
use forgeline_llm::{
    Provider, ProviderError, RetryPolicy, Timeouts,
    http::{HttpBuilder, WireFormat},
    transport::Transport,
};
use forgeline_types::{Capabilities, ErrorCode, Text, debug_fields};

/// A provider that implements `Debug`, as every provider should.
pub trait Candidate: Provider + fmt::Debug {}

impl<P: Provider + fmt::Debug> Candidate for P {}

/// A provider under test, and its vendor's wire format.
///
/// Two methods are required: [`provider`](Self::provider), which sets the provider up, and
/// [`answer`](Self::answer), which returns what a server would send. The others have defaults that suit
/// many vendors.
pub trait Subject: Sync {
    /// Builds the provider with the transport, key, model and other options of `setup`.
    ///
    /// # Errors
    ///
    /// Returns an error if the provider's own setup fails.
    fn provider(&self, setup: &Setup) -> Result<Arc<dyn Candidate>, ProviderError>;

    /// Returns the body of `answer` as the vendor would send it, with one frame for each event and each delta in
    /// its own frame; `None` if the protocol cannot express it.
    fn answer(&self, answer: &Answer) -> Option<Vec<Bytes>>;

    /// Returns an event of an unknown kind, or with unknown fields, which is inserted between the others.
    /// Default: none.
    fn unknown(&self) -> Option<Bytes> {
        None
    }

    /// Returns the frame that keeps the connection alive while the model is silent. Default: none.
    fn comment(&self) -> Option<Bytes> {
        None
    }

    /// Returns the `content-type` of an answer. Default: `text/event-stream`.
    fn content_type(&self) -> &'static str {
        "text/event-stream"
    }

    /// Returns the body of an error status. Default: in OpenAI's format.
    fn error_body(&self, kind: ErrorCode, message: &str) -> Bytes {
        let words = [
            (ErrorCode::QuotaExhausted, "insufficient_quota"),
            (ErrorCode::RateLimited, "rate_limit_exceeded"),
        ];
        let word = words.iter().find(|(of, _)| *of == kind).map_or("error", |(_, word)| word);
        let error = json!({ "message": message, "type": word, "param": null, "code": word });
        Bytes::from(json!({ "error": error }).to_string())
    }

    /// Returns the body of a model list that contains `model`. Default: in OpenAI's format.
    fn models_body(&self, model: &str) -> Bytes {
        Bytes::from(json!({ "object": "list", "data": [{ "id": model }] }).to_string())
    }

    /// Returns the names of checks that do not apply to this provider, each with the reason to be
    /// reported. Default: none.
    fn exempt(&self) -> &[(&str, &str)] {
        &[]
    }
}

/// The options for the provider of a [`Subject`].
///
/// # Examples
///
/// ```
/// use forgeline::{
///     llm::{ProviderError, openai::{ChatCompletions, OpenAi}},
///     testing::conformance::Setup,
/// };
///
/// fn provider(setup: &Setup) -> Result<OpenAi, ProviderError> {
///     setup.http::<ChatCompletions>().base_url("http://server").build()
/// }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Setup {
    /// The transport that receives the requests. No socket is opened.
    pub transport: Arc<dyn Transport>,
    /// The key, which must appear in a header and nowhere else.
    pub key: String,
    /// The model.
    pub model: Text,
    /// The timeouts.
    pub timeouts: Timeouts,
    /// The retry policy.
    pub retry: RetryPolicy,
    /// The capabilities of the model; `None` for the provider's own.
    pub capabilities: Option<Capabilities>,
}

impl Setup {
    /// Returns a builder of a provider over HTTP with these options.
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

debug_fields! { Setup, setup:
    model = setup.model,
    timeouts = setup.timeouts,
    retry = setup.retry,
    capabilities = setup.capabilities,
}
