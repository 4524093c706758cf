//! What Cohere is to the shared part.

use bytes::Bytes;

use super::{CohereDecoder, request};
use crate::{
    llm::{
        ProviderError, Request,
        http::{EnvNames, HttpConfig, HttpProvider, WireFormat, endpoint, with_query},
        parser::ThinkingDialect,
    },
    types::{Capabilities, Text},
};

/// Cohere, version 2 of its API.
///
/// What the vendor says of [`Request`]'s fields:
/// * `thinking` is the field of the same name; `reasoning_effort` has no counterpart:
///   [`ProviderError::Unsupported`].
/// * [`ToolChoice::Tool`](crate::llm::ToolChoice::Tool) works for the only tool of a request;
///   `parallel_tool_calls` cannot be turned off: [`ProviderError::Unsupported`].
/// * One tool that is `strict` makes all of them so.
/// * `cache` and `metadata` have no counterpart and are not sent; Cohere keeps prompts by itself.
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
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ChatV2;

impl WireFormat for ChatV2 {
    type Decoder = CohereDecoder;

    const PROVIDER: &'static str = "cohere";

    const ENV: EnvNames = EnvNames::new("COHERE_API_KEY", "COHERE_BASE_URL", "COHERE_MODEL");

    const NEEDS_MODEL: bool = true;

    const STREAM_FIELD: Option<&'static str> = Some("stream");

    fn defaults() -> HttpConfig {
        let capabilities = Capabilities {
            streaming: true,
            tools: true,
            parallel_tools: true,
            vision: true,
            documents: false,
            prompt_caching: false,
            structured_output: true,
            thinking: true,
        };
        // Thinking is content of its own; tags in the text are the model's words.
        HttpConfig::new("https://api.cohere.com", capabilities).thinking(ThinkingDialect::NONE)
    }

    fn endpoint(&self, config: &HttpConfig) -> Text {
        endpoint(&config.base_url, "/v2", "/chat")
    }

    /// The list of models is still version 1.
    fn models_endpoint(&self, config: &HttpConfig) -> Text {
        let (base, query) = config.base_url.split_once('?').unwrap_or((&config.base_url, ""));
        let base = base.trim().trim_end_matches('/');
        let base = base.strip_suffix("/chat").unwrap_or(base);
        let base = base.strip_suffix("/v2").unwrap_or(base);
        let mark = if query.is_empty() { "" } else { "?" };
        let list = endpoint(&format!("{base}/v1{mark}{query}"), "", "/models");
        with_query(&list, "page_size=1000")
    }

    fn body(&self, request: &Request, config: &HttpConfig) -> Result<Vec<Bytes>, ProviderError> {
        request::body(request, &config.model)
    }

    fn degraded(&self, request: &Request, _config: &HttpConfig) -> Vec<Text> {
        let mut left_out = Vec::new();
        if !request.metadata.is_empty() {
            left_out.push(Text::from("metadata"));
        }
        left_out
    }

    fn decoder(&self, config: &HttpConfig) -> CohereDecoder {
        CohereDecoder::new(config.limits)
    }
}

/// What this protocol cannot carry.
pub(super) fn unsupported(feature: &str) -> ProviderError {
    ProviderError::Unsupported { provider: Text::from("cohere"), feature: Text::from(feature) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_base_url_leads_to_chat_and_models() {
        #[rustfmt::skip]
        let cases = [
            ("https://api.cohere.com",         "https://api.cohere.com/v2/chat", "https://api.cohere.com/v1/models"),
            ("https://api.cohere.com/v2/",     "https://api.cohere.com/v2/chat", "https://api.cohere.com/v1/models"),
            ("https://api.cohere.com/v2/chat", "https://api.cohere.com/v2/chat", "https://api.cohere.com/v1/models"),
            ("http://h/cohere/v2?x=1",         "http://h/cohere/v2/chat?x=1",    "http://h/cohere/v1/models?x=1"),
        ];
        for (base, chat, models) in cases {
            let mut config = ChatV2::defaults();
            config.base_url = base.into();
            assert_eq!(ChatV2.endpoint(&config), chat);
            let mark = if models.contains('?') { '&' } else { '?' };
            let models = format!("{models}{mark}page_size=1000");
            assert_eq!(ChatV2.models_endpoint(&config), models.as_str());
        }
    }
}
