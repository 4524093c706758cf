//! The parts of a provider that differ from vendor to vendor.

use bytes::Bytes;
use serde_json::Value;

use super::{BodyWriter, HttpConfig, url};
use crate::{BodyDecoder, ProviderError, Request, SchemaRules, ToolSchemaRules};
use forgeline_types::{Capabilities, MediaRules, Text};

/// The environment variables of a provider.
///
/// # Examples
///
/// ```
/// use forgeline::llm::http::EnvNames;
///
/// const NAMES: EnvNames = EnvNames::new("ACME_API_KEY", "ACME_BASE_URL", "ACME_MODEL");
/// assert_eq!(NAMES.api_key(), "ACME_API_KEY");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvNames {
    api_key: &'static str,
    base_url: &'static str,
    model: &'static str,
}

impl EnvNames {
    /// Creates the names of the key, such as `OPENAI_API_KEY`, of the base URL and of the model.
    #[must_use]
    pub const fn new(api_key: &'static str, base_url: &'static str, model: &'static str) -> Self {
        Self { api_key, base_url, model }
    }

    /// Returns the name of the variable for the key.
    #[must_use]
    pub const fn api_key(self) -> &'static str {
        self.api_key
    }

    /// Returns the name of the variable for the base URL.
    #[must_use]
    pub const fn base_url(self) -> &'static str {
        self.base_url
    }

    /// Returns the name of the variable for the model.
    #[must_use]
    pub const fn model(self) -> &'static str {
        self.model
    }
}

/// The format of a vendor's requests and responses.
///
/// [`HttpProvider`](super::HttpProvider) turns a format into a provider: connections, keys, timeouts, retries,
/// error statuses and health checks are the same for all. Implement this trait for a server that none of the
/// built-in formats fits; see [`docs/guide/adding-a-provider.md`].
///
/// # Examples
///
/// A vendor with a dialect of Chat Completions that has an additional member:
///
/// ```
/// use bytes::Bytes;
/// use forgeline::{
///     llm::{
///         ProviderError,
///         http::{BodyWriter, EnvNames, HttpConfig, HttpProvider, WireFormat},
///         openai::{ChatCompletions, OpenAiDecoder},
///     },
///     types::Capabilities,
/// };
///
/// #[derive(Clone, Default)]
/// struct Acme;
///
/// impl WireFormat for Acme {
///     type Decoder = OpenAiDecoder;
///
///     const PROVIDER: &'static str = "acme";
///     const ENV: EnvNames = EnvNames::new("ACME_API_KEY", "ACME_BASE_URL", "ACME_MODEL");
///     const PATH: &'static str = "/chat/completions";
///
///     fn defaults() -> HttpConfig {
///         HttpConfig::new("https://api.acme.example/v1", Capabilities::ALL)
///     }
///
///     fn body(&self, mut body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
///         body.field("safe_prompt", &true);
///         ChatCompletions::default().body(body)
///     }
///
///     fn decoder(&self, config: &HttpConfig) -> OpenAiDecoder {
///         OpenAiDecoder::new(config.limits)
///     }
/// }
///
/// let provider = HttpProvider::<Acme>::new("your key", "acme-1")?;
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
///
/// [`docs/guide/adding-a-provider.md`]: https://github.com/forgeline/forgeline/blob/main/docs/guide/adding-a-provider.md
pub trait WireFormat: Clone + Default + Send + Sync + 'static {
    /// The decoder of the responses.
    type Decoder: BodyDecoder + Unpin + 'static;

    /// The provider's name, such as `openai`.
    const PROVIDER: &'static str;

    /// The environment variables that configure the provider.
    const ENV: EnvNames;

    /// The version in the API's paths, which is added to a base URL without a path of its own.
    /// Default: `/v1`.
    const VERSION: &'static str = "/v1";

    /// The path of the method after the version, such as `/chat/completions`.
    const PATH: &'static str;

    /// The query of the model list, such as `limit=1000`. Default: none.
    const MODELS_QUERY: &'static str = "";

    /// The media type of the responses, for the `Accept` header. Default: `text/event-stream`.
    const ACCEPT: &'static str = "text/event-stream";

    /// `true` if the server at the vendor's own address needs a model name although it is
    /// local; remote servers always need one. Default: `false`.
    const NEEDS_MODEL: bool = false;

    /// The member of the body that is `false` if responses are not streamed
    /// ([`Capabilities::streaming`](forgeline_types::Capabilities::streaming) is `false`); the decoder
    /// must be able to read them. Default: none, which requests a stream whatever the capabilities are.
    const STREAM_FIELD: Option<&'static str> = None;

    /// Returns the default configuration: the vendor's URL, and the capabilities of its protocol.
    fn defaults() -> HttpConfig;

    /// Returns the capabilities of the protocol with this server, unless they are set explicitly. Default: the
    /// capabilities of [`defaults`](Self::defaults).
    fn capabilities(&self, base_url: &str) -> Capabilities {
        let _ = base_url;
        Self::defaults().capabilities
    }

    /// Returns the base URL for the value of the environment variable. Default: the value.
    #[must_use]
    fn address(value: &str) -> Text {
        Text::from(value)
    }

    /// Returns the URL of a request. Default: [`PATH`](Self::PATH) after the base URL, and after
    /// [`VERSION`](Self::VERSION) if the base URL has no path of its own; a base URL that ends with
    /// the path is used as it is, and its query is kept.
    fn endpoint(&self, config: &HttpConfig) -> Text {
        url::endpoint(&config.base_url, Self::VERSION, Self::PATH)
    }

    /// Returns the URL at which a `GET` lists the models, which shows that the server is reachable and
    /// accepts the key. Default: `/models` next to [`endpoint`](Self::endpoint).
    fn models_endpoint(&self, config: &HttpConfig) -> Text {
        let base = config.base_url.replace(Self::PATH, "");
        url::with_query(&url::endpoint(&base, Self::VERSION, "/models"), Self::MODELS_QUERY)
    }

    /// Returns the header with the key, as a name and a value. Default:
    /// `Authorization: Bearer`.
    fn key_header(&self, key: &str) -> (Text, String) {
        (Text::from("authorization"), format!("Bearer {key}"))
    }

    /// Returns additional headers for this request, such as the version of the API. Default: none.
    fn headers(&self, request: &Request) -> Vec<(Text, Text)> {
        let _ = request;
        Vec::new()
    }

    /// Writes the body of the request, in segments that are sent one after another.
    ///
    /// Equal requests must give equal bytes, and the body of a conversation that has grown must begin with the same
    /// bytes as before, so that prompt caches work; `body` knows the request, the configuration, and the part of the
    /// conversation that was sent before.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Unsupported`] for anything that the protocol cannot carry.
    fn body(&self, body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError>;

    /// Returns the parts of the request that the protocol has no place for and the body leaves out,
    /// each described in a few words. They are reported before the answer begins, by an event named
    /// [`DEGRADED`](crate::DEGRADED). Default: none.
    ///
    /// Not included are marks for the prompt cache, which the capabilities cover, and the fact that a tool
    /// result is an error, which the result's own text shows.
    fn dropped_fields(&self, request: &Request, config: &HttpConfig) -> Vec<Text> {
        let _ = (request, config);
        Vec::new()
    }

    /// Returns `true` if the server and model accept the description of a tool at the place where it was found
    /// ([`ToolSpec::deferred`](crate::ToolSpec::deferred)), instead of at the beginning. Default: `false`.
    fn defers_tools(&self, config: &HttpConfig) -> bool {
        let _ = config;
        false
    }

    /// Returns the images and documents that the protocol has a place for and this server accepts. Default: all.
    fn media_rules(&self, config: &HttpConfig) -> MediaRules {
        let _ = config;
        MediaRules::default()
    }

    /// Returns `true` if the server is configured to shorten long conversations itself. Default: `false`.
    fn compacts(&self) -> bool {
        false
    }

    /// Returns `true` if messages of the user in a row are sent as one, since the templates of some of the server's models fail
    /// unless the roles are in turns. Default: `false`.
    fn alternates_roles(&self, config: &HttpConfig) -> bool {
        let _ = config;
        false
    }

    /// Returns `true` if reasoning sent in separate members is signed, so that reasoning
    /// without a signature was written into the text. Default: `false`.
    fn signs_reasoning(&self, config: &HttpConfig) -> bool {
        let _ = config;
        false
    }

    /// Returns the features of JSON Schema that the server honors when it binds an answer to a schema. Default:
    /// everything.
    fn schema_rules(&self, config: &HttpConfig) -> SchemaRules {
        let _ = config;
        SchemaRules::ANY
    }

    /// Returns the features of JSON Schema that the server accepts in schemas of tools that it does not enforce; the schemas
    /// are converted to them before [`body`](Self::body) is called. Default: everything.
    fn tool_schema_rules(&self, config: &HttpConfig) -> ToolSchemaRules {
        let _ = config;
        ToolSchemaRules::ANY
    }

    /// Creates a decoder for one response.
    fn decoder(&self, config: &HttpConfig) -> Self::Decoder;

    /// Creates a decoder for the response to `request`, which may say how the response is to be read, such as by the number of
    /// answers that it asks for. Default: [`decoder`](Self::decoder).
    fn answer_decoder(&self, config: &HttpConfig, request: &Request) -> Self::Decoder {
        let _ = request;
        self.decoder(config)
    }
}

/// Returns `true` unless `count`, the member of a request with the number of answers, asks for several.
pub(crate) fn asks_for_one(count: Option<&Value>) -> bool {
    count.is_none_or(|count| count.is_null() || count.as_f64().is_some_and(|count| count <= 1.0))
}
