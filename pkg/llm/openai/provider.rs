//! What Chat Completions is to the shared part.

use bytes::Bytes;

use super::{OpenAiDecoder, host::Host, request};
use crate::{
    llm::{
        ProviderError, Request, SchemaRules,
        http::{EnvNames, HttpConfig, HttpProvider, WireFormat, endpoint},
    },
    types::{Capabilities, Text},
};

/// OpenAI Chat Completions, as OpenAI and everybody compatible serve it.
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
        endpoint(&config.base_url, "/v1", "/chat/completions")
    }

    fn models_endpoint(&self, config: &HttpConfig) -> Text {
        let base = config.base_url.replace("/chat/completions", "");
        endpoint(&base, "/v1", "/models")
    }

    fn body(&self, request: &Request, config: &HttpConfig) -> Result<Vec<Bytes>, ProviderError> {
        request::body(request, &config.model, Host::of(&config.base_url))
    }

    fn schema_rules(&self, config: &HttpConfig) -> SchemaRules {
        // Others take more, or other things.
        if Host::of(&config.base_url) == Host::OpenAi {
            SchemaRules::OPENAI
        } else {
            SchemaRules::ANY
        }
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
