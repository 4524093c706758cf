//! The `WireFormat` of Chat Completions.

use bytes::Bytes;

use super::{OpenAiDecoder, host::Host, message, request};
use crate::{
    llm::{
        ProviderError, SchemaRules,
        http::{BodyWriter, EnvNames, HttpConfig, HttpProvider, WireFormat},
    },
    types::Capabilities,
};

/// OpenAI Chat Completions, as OpenAI and compatible servers serve it.
///
/// Differences from server to server follow from the host in the base URL:
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
/// Errors are [`ProviderError::Unsupported`]; [`Request::extra`] sets any other field. Documents go to
/// OpenAI, Azure and OpenRouter only, unless the capabilities are set by hand.
///
/// Reasoning goes back in the member that it came in, which a
/// [`ProviderItem`](crate::types::ProviderItem) of kind
/// [`Reasoning`](crate::types::ItemKind::Reasoning) names behind it in the message; OpenAI, Azure and
/// Mistral do not get it.
///
/// [`Thinking::Off`]: crate::llm::Thinking::Off
/// [`Thinking::On`]: crate::llm::Thinking::On
/// [`Thinking::Budget`]: crate::llm::Thinking::Budget
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

    fn capabilities(&self, base_url: &str) -> Capabilities {
        let host = Host::of(base_url);
        Capabilities {
            documents: matches!(host, Host::OpenAi | Host::OpenRouter),
            structured_output: !matches!(host, Host::DeepSeek | Host::Perplexity),
            ..Self::defaults().capabilities
        }
    }

    fn body(&self, mut body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        let host = Host::of(&body.config().base_url);
        request::options(&mut body, host)?;
        body.tools("tools", 0, |tools| tools.iter().map(request::tool).collect());
        body.chat_messages(|message, items| message::encode(message, host.takes_reasoning(), items))
    }

    fn schema_rules(&self, config: &HttpConfig) -> SchemaRules {
        let is_openai = Host::of(&config.base_url) == Host::OpenAi;
        // Others take more, or other things.
        if is_openai { SchemaRules::OPENAI } else { SchemaRules::ANY }
    }

    fn decoder(&self, config: &HttpConfig) -> OpenAiDecoder {
        OpenAiDecoder::new(config.limits)
    }
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
