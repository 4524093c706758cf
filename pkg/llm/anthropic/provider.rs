//! The `WireFormat` of Anthropic Messages.

use bytes::Bytes;

use super::{AnthropicDecoder, items::PROTOCOL, request};
use crate::{
    llm::{
        ProviderError, Request, SchemaRules,
        http::{BodyWriter, EnvNames, HttpBuilder, HttpConfig, HttpProvider, WireFormat},
        parser::ThinkingDialect,
    },
    types::{Capabilities, Text},
};

/// The version of the API that is spoken.
const VERSION: &str = "2023-06-01";

/// Anthropic Messages, as Anthropic and compatible servers serve it.
///
/// Reasoning that is signed, redacted reasoning and the blocks of the vendor's own tools go back
/// unchanged in the next request. Of a [`Request`]'s metadata only `user_id` is sent; a seed and a
/// JSON object without a schema are [`ProviderError::Unsupported`]. [`Thinking::On`] lets the model
/// decide how much it thinks; Claude 4.5 and older ones, recognised by their names, get a budget of
/// 4096 tokens, or half of `max_tokens` if that is less.
///
/// [`Thinking::On`]: crate::llm::Thinking::On
///
/// # Examples
///
/// ```no_run
/// use forgeline::llm::{PromptCache, Provider, Request, anthropic::Anthropic};
///
/// # async fn run() -> Result<(), forgeline::llm::ProviderError> {
/// let provider = Anthropic::new("your key", "claude-sonnet-5")?;
/// let request = Request::prompt("What is 6 × 7?").system("Be brief.").cache(PromptCache::Marks);
/// let answer = provider.complete(request).await?;
/// # Ok(())
/// # }
/// ```
pub type Anthropic = HttpProvider<Messages>;

/// The format of Anthropic Messages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Messages {
    /// Most tokens of an answer when the request does not say; the protocol wants a number. A budget
    /// for reasoning comes on top. Default: 4096.
    pub max_tokens: u32,
    /// Features of the API to switch on, for the header `anthropic-beta`. Default: none.
    pub beta: Vec<Text>,
}

impl Default for Messages {
    fn default() -> Self {
        Self { max_tokens: 4096, beta: Vec::new() }
    }
}

impl HttpBuilder<Messages> {
    /// Sets [`max_tokens`](Messages::max_tokens).
    #[must_use]
    pub fn max_tokens(self, tokens: u32) -> Self {
        self.wire(|messages| messages.max_tokens = tokens)
    }

    /// Adds to [`beta`](Messages::beta).
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::anthropic::Anthropic;
    ///
    /// let builder = Anthropic::builder().api_key("your key").model("claude-sonnet-5");
    /// let provider = builder.beta("compact-2026-01-12").build()?;
    /// # Ok::<(), forgeline::llm::ProviderError>(())
    /// ```
    #[must_use]
    pub fn beta(self, feature: impl Into<Text>) -> Self {
        self.wire(|messages| messages.beta.push(feature.into()))
    }
}

impl WireFormat for Messages {
    type Decoder = AnthropicDecoder;

    const PROVIDER: &'static str = PROTOCOL;

    const ENV: EnvNames =
        EnvNames::new("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL");

    const PATH: &'static str = "/messages";

    const MODELS_QUERY: &'static str = "limit=1000";

    const NEEDS_MODEL: bool = true;

    const STREAM_FIELD: Option<&'static str> = Some("stream");

    fn defaults() -> HttpConfig {
        // Reasoning has blocks of its own; a tag in the text is meant as text.
        HttpConfig::new("https://api.anthropic.com", Capabilities::ALL)
            .thinking(ThinkingDialect::NONE)
    }

    fn key_header(&self, key: &str) -> (Text, String) {
        (Text::from("x-api-key"), key.to_owned())
    }

    fn headers(&self, _: &Request) -> Vec<(Text, Text)> {
        let mut headers = vec![(Text::from("anthropic-version"), Text::from(VERSION))];
        if !self.beta.is_empty() {
            headers.push((Text::from("anthropic-beta"), Text::from(self.beta.join(","))));
        }
        headers
    }

    fn body(&self, body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        request::body(body, self.max_tokens)
    }

    fn dropped_fields(&self, request: &Request, _config: &HttpConfig) -> Vec<Text> {
        let has_other = request.metadata.keys().any(|key| key != "user_id");
        has_other.then(|| Text::from("metadata other than user_id")).into_iter().collect()
    }

    fn schema_rules(&self, config: &HttpConfig) -> SchemaRules {
        // Compatible servers honour more, or other things.
        if config.base_url.contains("anthropic.com") {
            SchemaRules::ANTHROPIC
        } else {
            SchemaRules::ANY
        }
    }

    fn decoder(&self, config: &HttpConfig) -> AnthropicDecoder {
        AnthropicDecoder::new(config.limits)
    }
}
