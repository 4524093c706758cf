//! Cohere's `WireFormat`.

use bytes::Bytes;
use serde_json::{Value, json};

use super::message;
use crate::{
    ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSchemaRules,
    cohere::{CohereDecoder, PROTOCOL},
    http::{
        BodyWriter, EnvNames, HttpConfig, HttpProvider, SamplingNames, WireFormat, chat,
        url::{split, with_query},
    },
};
use forgeline_parser::ThinkingDialect;
use forgeline_types::{Capabilities, MediaRules, PictureKinds, Text};

/// The provider for Cohere's API, version 2.
///
/// The fields of a [`Request`] map as follows:
/// * `thinking` is sent under the same name; `reasoning_effort` has no counterpart:
///   [`ProviderError::Unsupported`].
/// * [`ToolChoice::Tool`](crate::ToolChoice::Tool) is supported for the only tool of a request;
///   `parallel_tool_calls` cannot be turned off: [`ProviderError::Unsupported`].
/// * If one tool is `strict`, all are.
/// * `cache` and `metadata` have no counterpart and are not sent; Cohere caches prompts automatically.
///
/// # Examples
///
/// ```no_run
/// use forgeline::llm::{Provider, Request, cohere::Cohere};
///
/// # async fn run() -> Result<(), forgeline::llm::ProviderError> {
/// let provider = Cohere::new("my key", "command-a-03-2025")?;
/// let answer = provider.complete(Request::prompt("What is 6 × 7?")).await?;
/// # Ok(())
/// # }
/// ```
pub type Cohere = HttpProvider<ChatV2>;

/// The format of Cohere's chat, version 2.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{http::HttpProvider, cohere::ChatV2};
///
/// let builder = HttpProvider::<ChatV2>::builder().base_url("https://api.cohere.com");
/// let provider = builder.api_key("your key").model("m").build()?;
/// # drop(provider);
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ChatV2;

impl WireFormat for ChatV2 {
    type Decoder = CohereDecoder;

    const PROVIDER: &'static str = PROTOCOL;

    const ENV: EnvNames = EnvNames::new("COHERE_API_KEY", "COHERE_BASE_URL", "COHERE_MODEL");

    const VERSION: &'static str = "/v2";

    const PATH: &'static str = "/chat";

    const MODELS_QUERY: &'static str = "page_size=1000";

    const NEEDS_MODEL: bool = true;

    const STREAM_FIELD: Option<&'static str> = Some("stream");

    fn defaults() -> HttpConfig {
        let able = Capabilities::ALL.documents(false).prompt_caching(false);
        // Thinking is separate content; tags in the text are plain text.
        HttpConfig::new("https://api.cohere.com", able).thinking(ThinkingDialect::NONE)
    }

    /// Returns the URL of the model list, which is still in version 1 of the API.
    fn models_endpoint(&self, config: &HttpConfig) -> Text {
        let (base, query) = split(&config.base_url);
        let base = base.strip_suffix(Self::PATH).unwrap_or(base);
        let base = base.strip_suffix(Self::VERSION).unwrap_or(base);
        with_query(&format!("{base}/v1/models{query}"), Self::MODELS_QUERY)
    }

    fn body(&self, mut body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        options(&mut body)?;
        body.tools("tools", 0, |tools| tools.iter().map(chat::tool).collect());
        body.chat_messages(message::encode)
    }

    fn media_rules(&self, _config: &HttpConfig) -> MediaRules {
        MediaRules::default().pictures(PictureKinds::Web)
    }

    fn dropped_fields(&self, request: &Request, _config: &HttpConfig) -> Vec<Text> {
        let metadata = (!request.metadata.is_empty()).then(|| Text::from("metadata"));
        metadata.into_iter().chain(chat::moved_parts(request)).collect()
    }

    fn tool_schema_rules(&self, _config: &HttpConfig) -> ToolSchemaRules {
        ToolSchemaRules::COHERE
    }

    fn decoder(&self, config: &HttpConfig) -> CohereDecoder {
        CohereDecoder::new(config.limits)
    }
}

/// Cohere's names.
const NAMES: SamplingNames =
    SamplingNames { top_p: "p", top_k: "k", stop: "stop_sequences", ..SamplingNames::CHAT };

/// Writes the members before the tools.
fn options(body: &mut BodyWriter<'_>) -> Result<(), ProviderError> {
    let request = body.request();
    if request.reasoning_effort.is_some() && !body.is_set("thinking") {
        return Err(body.unsupported("a reasoning effort; set a budget for thinking instead"));
    }
    body.begin();
    body.sampling(&NAMES)?;
    body.optional("thinking", request.thinking.map(thinking));
    body.optional("response_format", request.response_format.as_ref().map(format));
    if request.tools.is_empty() {
        return Ok(());
    }
    if request.parallel_tool_calls == Some(false) {
        return Err(body.unsupported("one call at a time; leave parallel_tool_calls unset"));
    }
    if let Some(choice) = &request.tool_choice
        && !body.is_set("tool_choice")
    {
        body.optional("tool_choice", tool_choice(body, choice)?);
    }
    body.optional("strict_tools", request.tools.iter().any(|tool| tool.strict).then_some(true));
    Ok(())
}

fn thinking(thinking: Thinking) -> Value {
    match thinking {
        Thinking::Off => json!({ "type": "disabled" }),
        Thinking::On => json!({ "type": "enabled" }),
        Thinking::Budget(tokens) => json!({ "type": "enabled", "token_budget": tokens }),
    }
}

fn format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::JsonObject => json!({ "type": "json_object" }),
        ResponseFormat::JsonSchema { schema, .. } => {
            json!({ "type": "json_object", "json_schema": schema })
        }
    }
}

/// Returns Cohere's value for a tool choice; the member is omitted to let the model decide.
fn tool_choice(
    body: &BodyWriter<'_>,
    choice: &ToolChoice,
) -> Result<Option<&'static str>, ProviderError> {
    match choice {
        ToolChoice::Auto => Ok(None),
        ToolChoice::None => Ok(Some("NONE")),
        ToolChoice::Required => Ok(Some("REQUIRED")),
        ToolChoice::Tool(name) if body.request().tools.iter().all(|tool| tool.name == *name) => {
            Ok(Some("REQUIRED"))
        }
        ToolChoice::Tool(_) => {
            Err(body.unsupported("a choice of one tool among several; offer that tool alone"))
        }
    }
}
