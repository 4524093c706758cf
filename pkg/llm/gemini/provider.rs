//! What Gemini is to the shared part.

use bytes::Bytes;

use super::{GeminiDecoder, request};
use crate::{
    llm::{
        ProviderError, Request, SchemaRules,
        http::{EnvNames, HttpConfig, HttpProvider, WireFormat, endpoint, with_query},
        parser::ThinkingDialect,
    },
    types::{Capabilities, Text},
};

/// Gemini, by Google's API for developers, or by Vertex AI.
///
/// For Vertex AI set the base URL down to the publisher or endpoint, as in
/// `https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/publishers/google`, and
/// [`authorize`](crate::llm::http::HttpBuilder::authorize), which makes the bearer token.
///
/// What the vendor says of [`Request`]'s fields:
/// * `thinking` and `reasoning_effort` are the `thinkingConfig`; thoughts are asked for unless
///   thinking is off. A budget, or thinking that is off, beside an effort is a
///   [`ProviderError::Config`].
/// * `cache` has no counterpart: Gemini keeps prompts by itself. A cache made beforehand is named by
///   `extra` (`cachedContent`).
/// * `metadata` is sent to Vertex AI, as `labels`; the API for developers has no place for it.
/// * `parallel_tool_calls` cannot be turned off: [`ProviderError::Unsupported`].
/// * The name of a document has no place and is not sent. System messages that begin the conversation
///   are instructions; later ones are [`ProviderError::Unsupported`].
/// * Gemini's signatures go back with their parts; those of other vendors do not. A call of another
///   vendor's model goes without one, which Gemini 3 takes only from turns that are over: move
///   between tasks, not in the middle of a tool loop.
/// * Fields of `generationConfig` in `extra` are merged with ours, and win.
///
/// # Examples
///
/// ```no_run
/// use forgeline::llm::{Provider, Request, gemini::Gemini};
///
/// # async fn run() -> Result<(), forgeline::llm::ProviderError> {
/// let provider = Gemini::new("my key", "gemini-2.5-flash")?;
/// let answer = provider.complete(Request::prompt("What is 6 × 7?")).await?;
/// # Ok(())
/// # }
/// ```
pub type Gemini = HttpProvider<GenerateContent>;

/// The format of Gemini's `streamGenerateContent`.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct GenerateContent;

/// The method that is called on a model.
const METHOD: &str = ":streamGenerateContent";

impl WireFormat for GenerateContent {
    type Decoder = GeminiDecoder;

    const PROVIDER: &'static str = "gemini";

    const ENV: EnvNames = EnvNames::new("GEMINI_API_KEY", "GEMINI_BASE_URL", "GEMINI_MODEL");

    const NEEDS_MODEL: bool = true;

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
        // Thoughts are parts of their own; tags in the text are the model's words.
        HttpConfig::new("https://generativelanguage.googleapis.com", capabilities)
            .thinking(ThinkingDialect::NONE)
    }

    /// A model with a slash, such as `tunedModels/x` or `endpoints/7`, is a path of its own.
    fn endpoint(&self, config: &HttpConfig) -> Text {
        let model = config.model.trim_matches('/');
        let folder = if model.contains('/') { "" } else { "models/" };
        let base = config.base_url.split('?').next().unwrap_or_default();
        let url = if base.trim().trim_end_matches('/').ends_with(METHOD) {
            endpoint(&config.base_url, "", METHOD)
        } else {
            endpoint(&config.base_url, "/v1beta", &format!("/{folder}{model}{METHOD}"))
        };
        let query = url.split_once('?').map(|(_, query)| query);
        match query {
            None => Text::from(format!("{url}?alt=sse")),
            Some(query) if query.split('&').any(|pair| pair.starts_with("alt=")) => url,
            Some(_) => Text::from(format!("{url}&alt=sse")),
        }
    }

    fn models_endpoint(&self, config: &HttpConfig) -> Text {
        let (base, query) =
            config.base_url.split_once('?').unwrap_or((config.base_url.as_str(), ""));
        let base = base.trim().trim_end_matches('/');
        // An address of a model's method stands below the list of models.
        let base = base.strip_suffix(METHOD).and_then(|model| model.rsplit_once('/'));
        let base = base.map_or_else(
            || config.base_url.clone(),
            |(list, _)| {
                let mark = if query.is_empty() { "" } else { "?" };
                Text::from(format!("{list}{mark}{query}"))
            },
        );
        with_query(&endpoint(&base, "/v1beta", "/models"), "pageSize=1000")
    }

    fn key_header(&self, key: &str) -> (Text, String) {
        (Text::from("x-goog-api-key"), key.to_owned())
    }

    fn body(&self, request: &Request, config: &HttpConfig) -> Result<Vec<Bytes>, ProviderError> {
        let is_named = !config.model.is_empty() || config.base_url.contains(METHOD);
        if !is_named {
            let message = Text::from("no model is named; set one, such as with GEMINI_MODEL");
            return Err(ProviderError::Config { message });
        }
        request::body(request, config.base_url.contains("aiplatform"))
    }

    fn degraded(&self, request: &Request, config: &HttpConfig) -> Vec<Text> {
        let mut left_out = Vec::new();
        if !request.metadata.is_empty() && !config.base_url.contains("aiplatform") {
            left_out.push(Text::from("metadata"));
        }
        if request.tools.iter().any(|tool| tool.strict) {
            left_out.push(Text::from("strict tools"));
        }
        left_out
    }

    fn schema_rules(&self, _config: &HttpConfig) -> SchemaRules {
        SchemaRules::GEMINI
    }

    fn decoder(&self, config: &HttpConfig) -> GeminiDecoder {
        GeminiDecoder::new(config.limits)
    }
}

/// What this protocol cannot carry.
pub(super) fn unsupported(feature: &str) -> ProviderError {
    ProviderError::Unsupported { provider: Text::from("gemini"), feature: Text::from(feature) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_base_url_and_model_leads_to_the_method() {
        const G: &str = "https://generativelanguage.googleapis.com";
        const V: &str = "https://r-aiplatform.googleapis.com/v1/projects/p/locations/r";
        #[rustfmt::skip]
        let cases = [
            (G.to_owned(),                       "m",             format!("{G}/v1beta/models/m:streamGenerateContent?alt=sse"),  format!("{G}/v1beta/models")),
            (format!("{G}/v1alpha/"),            "m",             format!("{G}/v1alpha/models/m:streamGenerateContent?alt=sse"), format!("{G}/v1alpha/models")),
            (G.to_owned(),                       "models/m",      format!("{G}/v1beta/models/m:streamGenerateContent?alt=sse"),  format!("{G}/v1beta/models")),
            (G.to_owned(),                       "tunedModels/m", format!("{G}/v1beta/tunedModels/m:streamGenerateContent?alt=sse"), format!("{G}/v1beta/models")),
            (format!("{V}/publishers/google"),   "m",             format!("{V}/publishers/google/models/m:streamGenerateContent?alt=sse"), format!("{V}/publishers/google/models")),
            (V.to_owned(),                       "endpoints/7",   format!("{V}/endpoints/7:streamGenerateContent?alt=sse"),      format!("{V}/models")),
            (format!("{G}/v1/models/m:streamGenerateContent?alt=sse"), "m", format!("{G}/v1/models/m:streamGenerateContent?alt=sse"), format!("{G}/v1/models?alt=sse")),
            ("http://h:1?x=2".to_owned(),        "m",             "http://h:1/v1beta/models/m:streamGenerateContent?x=2&alt=sse".to_owned(), "http://h:1/v1beta/models?x=2".to_owned()),
        ];
        for (base, model, want, list) in cases {
            let mut config = GenerateContent::defaults();
            (config.base_url, config.model) = (base.into(), model.into());
            assert_eq!(GenerateContent.endpoint(&config), want.as_str());
            let mark = if list.contains('?') { '&' } else { '?' };
            let list = format!("{list}{mark}pageSize=1000");
            assert_eq!(GenerateContent.models_endpoint(&config), list.as_str());
        }
    }

    #[test]
    fn a_model_must_be_named_even_at_a_server_of_one_s_own() {
        let mut config = GenerateContent::defaults();
        config.base_url = "http://h".into();
        let error = GenerateContent.body(&Request::prompt("x"), &config).unwrap_err();
        assert!(error.to_string().contains("GEMINI_MODEL"), "{error}");
    }
}
