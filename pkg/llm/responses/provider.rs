//! The `WireFormat` of Responses.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{PROTOCOL, ResponsesDecoder, message, request};
use crate::{
    llm::{
        ProviderError, SchemaRules,
        http::{BodyWriter, EnvNames, HttpBuilder, HttpConfig, HttpProvider, WireFormat},
    },
    types::Capabilities,
};

/// OpenAI Responses, as OpenAI and those compatible serve it.
///
/// The conversation is sent whole with every request and the vendor is told to store nothing; its
/// reasoning comes encrypted and goes back with the next request. [`Responses::store`] changes that.
///
/// The API has no `stop`, `seed` and `top_k` and no budget of reasoning tokens: a request that has
/// one is a [`ProviderError::Unsupported`], unless `extra` has the field for a server that knows it.
/// A [`response_format`](Request::response_format) goes to servers over plain HTTP in the words of
/// Chat Completions too, for llama.cpp reads only those. [`Request::cache`] adds nothing, for the
/// vendor caches by itself. Tools that the vendor runs are listed in `extra`, as `tools`, beside the
/// functions of the request written out.
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
/// let provider = builder.store(true).build()?;
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Responses {
    /// `true` if the vendor may keep requests and answers, as it does when not told otherwise. If not,
    /// it is asked for its reasoning in encrypted form. Default: `false`.
    pub store: bool,
}

impl HttpBuilder<Responses> {
    /// Sets [`store`](Responses::store).
    #[must_use]
    pub fn store(self, store: bool) -> Self {
        self.wire(|responses| responses.store = store)
    }
}

impl WireFormat for Responses {
    type Decoder = ResponsesDecoder;

    const PROVIDER: &'static str = PROTOCOL;

    const ENV: EnvNames = EnvNames::new("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL");

    const PATH: &'static str = "/responses";

    const STREAM_FIELD: Option<&'static str> = Some("stream");

    fn defaults() -> HttpConfig {
        HttpConfig::new("https://api.openai.com/v1", Capabilities::ALL.prompt_caching(false))
    }

    fn body(&self, mut body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        let request = body.request();
        let is_stored = request.extra.get("store").and_then(Value::as_bool).unwrap_or(self.store);
        request::options(&mut body, self.store)?;
        body.tools("tools", 0, |tools| tools.iter().map(request::tool).collect());
        if let Some(system) = &request.system {
            body.system("instructions", system, 0, |text| json!(text));
        }
        body.variant(u8::from(is_stored));
        let mut at = body.known();
        body.messages("input", |message, items| {
            let before = request.messages.messages().get(..at).unwrap_or_default();
            at += 1;
            message::encode(message, before, is_stored, items)
        })
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
