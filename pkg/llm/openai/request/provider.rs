//! The `WireFormat` of Chat Completions.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{host::ServerHost, message, pictures, reasoning_rules::ReasoningRules};
use crate::{
    ProviderError, Request, SchemaRules, Thinking, ToolSchemaRules, ToolSpec,
    http::{
        BodyWriter, EnvNames, HttpConfig, HttpProvider, SamplingNames, WireFormat, asks_for_one,
        chat,
    },
    openai::OpenAiDecoder,
};
use forgeline_types::{Capabilities, MediaRules, Text};

/// The provider for OpenAI Chat Completions, for OpenAI and compatible servers.
///
/// Differences between servers are determined by the host in the base URL:
///
/// | host | [`Thinking::Off`], [`On`][`Thinking::On`] | [`Budget`][`Thinking::Budget`] | other differences |
/// |---|---|---|---|
/// | OpenAI, Azure | `reasoning_effort: "none"`, nothing | error | `max_completion_tokens`; `top_k` is an error |
/// | `openrouter.ai` | `reasoning: {enabled}` | `reasoning: {max_tokens}` | |
/// | `api.deepseek.com` | `thinking: {type}` | error | no schemas |
/// | `api.mistral.ai` | error | error | `random_seed`, no `stream_options` |
/// | `api.perplexity.ai` | error | error | no schemas |
/// | others, such as llama.cpp and vLLM | `chat_template_kwargs: {enable_thinking}` | error | |
///
/// Errors are [`ProviderError::Unsupported`]; [`Request::extra`](crate::Request::extra) sets any other field. Documents are sent
/// only to OpenAI, Azure and OpenRouter, unless the capabilities are set explicitly.
///
/// Reasoning is sent back in the member that it came in, which is named by a
/// [`ProviderItem`](forgeline_types::ProviderItem) of kind
/// [`Reasoning`](forgeline_types::ItemKind::Reasoning) after it in the message; it is not sent to OpenAI, Azure and
/// Mistral.
///
/// [`Thinking::Off`]: crate::Thinking::Off
/// [`Thinking::On`]: crate::Thinking::On
/// [`Thinking::Budget`]: crate::Thinking::Budget
///
/// # Examples
///
/// ```no_run
/// use forgeline::llm::{Provider, Request, openai::OpenAi};
///
/// # async fn run() -> Result<(), forgeline::llm::ProviderError> {
/// let provider = OpenAi::builder().base_url("http://127.0.0.1:8080").build()?;
/// let answer = provider.complete(Request::prompt("What is 6 × 7?")).await?;
/// # Ok(())
/// # }
/// ```
pub type OpenAi = HttpProvider<ChatCompletions>;

/// The format of Chat Completions.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{http::HttpProvider, openai::ChatCompletions};
///
/// let builder = HttpProvider::<ChatCompletions>::builder().base_url("http://127.0.0.1:8080");
/// let provider = builder.api_key("your key").model("m").build()?;
/// # drop(provider);
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ChatCompletions;

impl WireFormat for ChatCompletions {
    type Decoder = OpenAiDecoder;

    const PROVIDER: &'static str = "openai";

    const ENV: EnvNames = EnvNames::new("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL");

    const PATH: &'static str = "/chat/completions";

    const STREAM_FIELD: Option<&'static str> = Some("stream");

    fn defaults() -> HttpConfig {
        HttpConfig::new("https://api.openai.com/v1", Capabilities::ALL.prompt_caching(false))
    }

    fn media_rules(&self, config: &HttpConfig) -> MediaRules {
        pictures::rules(&config.base_url)
    }

    fn capabilities(&self, base_url: &str) -> Capabilities {
        let host = ServerHost::from_url(base_url);
        Self::defaults()
            .capabilities
            .documents(matches!(host, ServerHost::OpenAi | ServerHost::OpenRouter))
            .structured_output(!matches!(host, ServerHost::DeepSeek | ServerHost::Perplexity))
    }

    fn body(&self, mut body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        let host = ServerHost::from_url(&body.config().base_url);
        options(&mut body, host)?;
        body.tools("tools", 0, |tools| tools.iter().map(tool).collect());
        let rules = ReasoningRules::of(&body.config().base_url, &body.config().model);
        body.chat_messages(|message, items| message::encode(message, rules, items))
    }

    fn dropped_fields(&self, request: &Request, _config: &HttpConfig) -> Vec<Text> {
        chat::moved_parts(request).into_iter().collect()
    }

    fn alternates_roles(&self, config: &HttpConfig) -> bool {
        // The templates of Devstral, Mistral and Gemma 3, among others, fail otherwise.
        ServerHost::from_url(&config.base_url) != ServerHost::OpenAi
    }

    fn signs_reasoning(&self, config: &HttpConfig) -> bool {
        // Mistral sends it in the parts of the content, without a member's name to sign it with.
        ServerHost::from_url(&config.base_url) != ServerHost::Mistral
    }

    fn schema_rules(&self, config: &HttpConfig) -> SchemaRules {
        let is_openai = ServerHost::from_url(&config.base_url) == ServerHost::OpenAi;
        // Other servers honor more, or something else.
        if is_openai { SchemaRules::OPENAI } else { SchemaRules::ANY }
    }

    fn tool_schema_rules(&self, _config: &HttpConfig) -> ToolSchemaRules {
        ToolSchemaRules::OPENAI
    }

    fn decoder(&self, config: &HttpConfig) -> OpenAiDecoder {
        OpenAiDecoder::new(config.limits)
    }

    fn answer_decoder(&self, config: &HttpConfig, request: &Request) -> OpenAiDecoder {
        self.decoder(config).merge_choices(asks_for_one(request.extra.get("n")))
    }
}

/// Writes the members before the tools.
fn options(body: &mut BodyWriter<'_>, host: ServerHost) -> Result<(), ProviderError> {
    let request = body.request();
    body.begin();
    // Mistral rejects the member, and sends the usage without it.
    if host != ServerHost::Mistral && request.extra.get("stream") != Some(&Value::Bool(false)) {
        body.field("stream_options", &json!({ "include_usage": true }));
    }
    let is_openai = host == ServerHost::OpenAi;
    body.sampling(&SamplingNames {
        // Renamed by OpenAI only.
        max_tokens: if is_openai { "max_completion_tokens" } else { "max_tokens" },
        top_k: if is_openai { "" } else { "top_k" },
        seed: if host == ServerHost::Mistral { "random_seed" } else { "seed" },
        ..SamplingNames::CHAT
    })?;
    let thinking = request.thinking.map(|wanted| thinking(body, wanted, host));
    let thinking = thinking.transpose()?.flatten();
    if let Some((key, value)) = &thinking {
        body.field(key, value);
    }
    if thinking.is_none_or(|(key, _)| key != "reasoning_effort") {
        body.optional("reasoning_effort", request.reasoning_effort.as_ref());
    }
    body.metadata("metadata");
    body.optional("response_format", request.response_format.as_ref().map(chat::response_format));
    body.tool_choice(chat::tool_choice);
    Ok(())
}

/// Returns the member that controls reasoning, which differs from vendor to vendor; OpenAI's models reason
/// without one.
fn thinking(
    body: &BodyWriter<'_>,
    wanted: Thinking,
    host: ServerHost,
) -> Result<Option<(&'static str, Value)>, ProviderError> {
    let is_on = wanted != Thinking::Off;
    let unsupported = |feature| Err(body.unsupported(feature));
    let field = match (host, wanted) {
        (ServerHost::OpenRouter, Thinking::Budget(tokens)) => {
            ("reasoning", json!({ "max_tokens": tokens }))
        }
        (ServerHost::OpenRouter, Thinking::On | Thinking::Off) => {
            ("reasoning", json!({ "enabled": is_on }))
        }
        (_, Thinking::Budget(_)) => {
            return unsupported("a budget of reasoning; set the reasoning effort instead");
        }
        (ServerHost::DeepSeek, Thinking::On | Thinking::Off) => {
            ("thinking", json!({ "type": if is_on { "enabled" } else { "disabled" } }))
        }
        (ServerHost::OpenAi, Thinking::On) => return Ok(None),
        (ServerHost::OpenAi, Thinking::Off) => ("reasoning_effort", json!("none")),
        (ServerHost::Mistral | ServerHost::Perplexity, Thinking::On | Thinking::Off) => {
            return unsupported("turning reasoning on or off; choose a model with or without it");
        }
        // llama.cpp, vLLM and SGLang pass it to the model's template.
        (ServerHost::Other, Thinking::On | Thinking::Off) => {
            ("chat_template_kwargs", json!({ "enable_thinking": is_on }))
        }
    };
    Ok(Some(field))
}

/// Encodes a tool, whose schema the server may enforce.
fn tool(tool: &ToolSpec) -> Value {
    let mut value = chat::tool(tool);
    if tool.strict {
        value["function"]["strict"] = json!(true);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_setup_fails_at_the_start_and_says_what_to_do() {
        let error = OpenAi::builder().base_url("localhost:8080").build().unwrap_err();
        assert!(error.to_string().contains("http://127.0.0.1:8080"), "{error}");
        let error = OpenAi::builder().api_key("k").build().unwrap_err();
        assert!(error.to_string().contains("OPENAI_MODEL"), "{error}");
        let error = OpenAi::builder().model("m").build().unwrap_err();
        assert!(error.to_string().contains("OPENAI_API_KEY"), "{error}");
    }

    #[test]
    fn neither_key_nor_header_values_nor_parts_of_the_url_are_shown() {
        let builder = OpenAi::builder()
            .base_url("https://me:pass@h/v1?api-key=inurl")
            .model("m")
            .api_key("sk-secret")
            .header("api-key", "hidden");
        let shown = format!("{builder:?}") + &format!("{:?}", builder.build().unwrap());
        for secret in ["sk-secret", "hidden", "pass", "inurl"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(shown.contains("api-key"), "{shown}");
    }
}
