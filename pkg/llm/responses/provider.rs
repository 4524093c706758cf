//! What Responses is to the shared part.

use bytes::Bytes;

use super::{ResponsesDecoder, request};
use crate::{
    llm::{
        ProviderError, Request, SchemaRules,
        http::{EnvNames, HttpConfig, HttpProvider, WireFormat, endpoint},
    },
    types::{Capabilities, Text},
};

/// The provider's name.
pub(super) const PROVIDER: &str = "openai-responses";

/// OpenAI Responses, as OpenAI and those compatible serve it.
///
/// The conversation is sent whole with every request and the vendor is told to store nothing; what it
/// reasoned comes encrypted and goes back with the next request. [`Responses::store`] changes that.
///
/// The API has no `stop`, `seed` and `top_k` and no budget of reasoning tokens: a request that has one
/// is a [`ProviderError::Unsupported`], unless `extra` has the field for a server that knows it.
/// A [`response_format`](Request::response_format) goes to servers over plain HTTP in the words of Chat
/// Completions too, for llama.cpp reads only those. [`Request::cache`] adds nothing, for the vendor caches by itself. Tools that the vendor runs are
/// listed in `extra`, as `tools`, beside the functions of the request written out.
///
/// # Examples
///
/// ```no_run
/// use forgeline::llm::{Provider, Request, responses::OpenAiResponses};
///
/// # async fn run() -> Result<(), forgeline::llm::ProviderError> {
/// let provider = OpenAiResponses::from_env()?;
/// let request = Request::prompt("What is 6 × 7?").reasoning_effort("low");
/// let answer = provider.complete(request).await?;
/// # Ok(())
/// # }
/// ```
pub type OpenAiResponses = HttpProvider<Responses>;

/// The format of Responses.
///
/// # Examples
///
/// ```
/// use forgeline::llm::responses::OpenAiResponses;
///
/// let builder = OpenAiResponses::builder().base_url("http://127.0.0.1:8080");
/// let provider = builder.wire(|responses| responses.store = true).build()?;
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Responses {
    /// Whether the vendor may keep requests and answers, as it does when not told otherwise. If not,
    /// it is asked for its reasoning in encrypted form. Default: no.
    pub store: bool,
}

impl WireFormat for Responses {
    type Decoder = ResponsesDecoder;

    const PROVIDER: &'static str = PROVIDER;

    const ENV: EnvNames = EnvNames::new("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL");

    const STREAM_FIELD: Option<&'static str> = Some("stream");

    fn defaults() -> HttpConfig {
        let capabilities = Capabilities {
            streaming: true,
            tools: true,
            parallel_tools: true,
            vision: true,
            documents: true,
            prompt_caching: false,
            structured_output: true,
            thinking: true,
        };
        HttpConfig::new("https://api.openai.com/v1", capabilities)
    }

    fn endpoint(&self, config: &HttpConfig) -> Text {
        endpoint(&config.base_url, "/v1", "/responses")
    }

    fn models_endpoint(&self, config: &HttpConfig) -> Text {
        let base = config.base_url.replace("/responses", "");
        endpoint(&base, "/v1", "/models")
    }

    fn body(&self, request: &Request, config: &HttpConfig) -> Result<Vec<Bytes>, ProviderError> {
        request::body(request, config, self.store)
    }

    fn schema_rules(&self, config: &HttpConfig) -> SchemaRules {
        let url = &config.base_url;
        let is_openai = url.contains("api.openai.com") || url.contains(".openai.azure.com");
        // Others take more, or other things.
        if is_openai { SchemaRules::OPENAI } else { SchemaRules::ANY }
    }

    fn decoder(&self, config: &HttpConfig) -> ResponsesDecoder {
        ResponsesDecoder::new(config.limits)
    }
}
