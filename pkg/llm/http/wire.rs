//! What a vendor is to the shared part.

use bytes::Bytes;

use super::HttpConfig;
use crate::{
    llm::{BodyDecoder, ProviderError, Request, SchemaRules},
    types::{Capabilities, Text},
};

/// The environment variables of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvNames {
    /// The key, such as `OPENAI_API_KEY`.
    pub api_key: &'static str,
    /// The address, such as `OPENAI_BASE_URL`.
    pub base_url: &'static str,
    /// The model, such as `OPENAI_MODEL`.
    pub model: &'static str,
}

impl EnvNames {
    /// These names.
    #[must_use]
    pub const fn new(api_key: &'static str, base_url: &'static str, model: &'static str) -> Self {
        Self { api_key, base_url, model }
    }
}

/// How a vendor's requests are written and its answers read.
///
/// [`HttpProvider`](super::HttpProvider) makes a provider of it. Implement it for a server that none
/// of the built-in formats fits.
pub trait WireFormat: Clone + Default + Send + Sync + 'static {
    /// Decodes the answers.
    type Decoder: BodyDecoder + Unpin + 'static;

    /// The provider's name, such as `openai`.
    const PROVIDER: &'static str;

    /// The environment variables that set the provider up.
    const ENV: EnvNames;

    /// What answers are, for the `Accept` header.
    const ACCEPT: &'static str = "text/event-stream";

    /// Whether the server at the vendor's own address has to be told the model, be it a local one;
    /// remote servers always have to be.
    const NEEDS_MODEL: bool = false;

    /// The field of the body that is `false` where answers come whole
    /// ([`Capabilities::streaming`](crate::types::Capabilities::streaming) is `false`); the decoder
    /// has to read them. Default: none, which asks for a stream whatever the capabilities say.
    const STREAM_FIELD: Option<&'static str> = None;

    /// The setup to start from: the vendor's address, and what its protocol can carry.
    fn defaults() -> HttpConfig;

    /// What the protocol can carry to this server, unless it is set by hand. Default: what
    /// [`defaults`](Self::defaults) say.
    fn capabilities(&self, base_url: &str) -> Capabilities {
        let _ = base_url;
        Self::defaults().capabilities
    }

    /// The address that the user's spelling of it in the environment means.
    #[must_use]
    fn address(spelling: &str) -> Text {
        Text::from(spelling)
    }

    /// Where a request goes.
    fn endpoint(&self, config: &HttpConfig) -> Text;

    /// Where a `GET` lists the models; it shows that the server is there and the key is right.
    fn models_endpoint(&self, config: &HttpConfig) -> Text;

    /// The header that carries the key: its name and its value.
    fn key_header(&self, key: &str) -> (Text, String) {
        (Text::from("authorization"), format!("Bearer {key}"))
    }

    /// Further headers of this request, such as the version of the API.
    fn headers(&self, request: &Request) -> Vec<(Text, Text)> {
        let _ = request;
        Vec::new()
    }

    /// The body of the request, in segments that are sent one after another.
    ///
    /// The same request gives the same bytes, and a conversation that has grown begins with the bytes
    /// of before, so that prompt caches hold.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Unsupported`] for what the protocol cannot carry.
    fn body(&self, request: &Request, config: &HttpConfig) -> Result<Vec<Bytes>, ProviderError>;

    /// What of the request the protocol has no place for and the body leaves out, each in a few words.
    /// It is told before the answer begins, by an event named [`DEGRADED`](crate::llm::DEGRADED).
    ///
    /// Not among it: marks for the prompt cache, which are told by the capabilities, and that the
    /// result of a tool is an error, which the result's own text says.
    fn degraded(&self, request: &Request, config: &HttpConfig) -> Vec<Text> {
        let _ = (request, config);
        Vec::new()
    }

    /// What of JSON Schema the server honours when it binds an answer to a schema.
    fn schema_rules(&self, config: &HttpConfig) -> SchemaRules {
        let _ = config;
        SchemaRules::ANY
    }

    /// A decoder for one answer.
    fn decoder(&self, config: &HttpConfig) -> Self::Decoder;
}
