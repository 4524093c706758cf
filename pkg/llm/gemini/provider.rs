//! The `WireFormat` of Gemini.

use bytes::Bytes;

use super::{GeminiDecoder, PROTOCOL, request};
use crate::{
    llm::{
        ProviderError, Request, SchemaRules,
        http::{
            BodyWriter, EnvNames, HttpConfig, HttpProvider, WireFormat,
            url::{endpoint, split, with_query},
        },
        parser::ThinkingDialect,
    },
    types::{Capabilities, Text},
};

/// Gemini, by Google's API for developers, or by Vertex AI.
///
/// For Vertex AI set the base URL down to the publisher or endpoint, as in
/// `https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/publishers/google`,
/// and
/// [`authorize`](crate::llm::http::HttpBuilder::authorize), which makes the bearer token.
///
/// The fields of a [`Request`]:
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

    const PROVIDER: &'static str = PROTOCOL;

    const ENV: EnvNames = EnvNames::new("GEMINI_API_KEY", "GEMINI_BASE_URL", "GEMINI_MODEL");

    const VERSION: &'static str = "/v1beta";

    const PATH: &'static str = METHOD;

    const MODELS_QUERY: &'static str = "pageSize=1000";

    const NEEDS_MODEL: bool = true;

    fn defaults() -> HttpConfig {
        // Thoughts are parts of their own; tags in the text are the model's words.
        let able = Capabilities::ALL.prompt_caching(false);
        HttpConfig::new("https://generativelanguage.googleapis.com", able)
            .thinking(ThinkingDialect::NONE)
    }

    /// Returns the URL of the method. A model with a slash, such as `tunedModels/x` or
    /// `endpoints/7`, is a path of its own.
    fn endpoint(&self, config: &HttpConfig) -> Text {
        let model = config.model.trim_matches('/');
        let folder = if model.contains('/') { "" } else { "models/" };
        let url = if split(&config.base_url).0.ends_with(METHOD) {
            endpoint(&config.base_url, "", METHOD)
        } else {
            endpoint(&config.base_url, Self::VERSION, &format!("/{folder}{model}{METHOD}"))
        };
        let (_, query) = split(&url);
        let has_form = query.split(['?', '&']).any(|pair| pair.starts_with("alt="));
        with_query(&url, if has_form { "" } else { "alt=sse" })
    }

    /// Returns the URL of the list, which a model's method is below.
    fn models_endpoint(&self, config: &HttpConfig) -> Text {
        let (url, query) = split(&config.base_url);
        let list = match url.strip_suffix(METHOD).and_then(|model| model.rsplit_once('/')) {
            Some((list, _)) => endpoint(&format!("{list}{query}"), Self::VERSION, "/models"),
            None => endpoint(&config.base_url, Self::VERSION, "/models"),
        };
        with_query(&list, Self::MODELS_QUERY)
    }

    fn key_header(&self, key: &str) -> (Text, String) {
        (Text::from("x-goog-api-key"), key.to_owned())
    }

    fn body(&self, body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        let config = body.config();
        if config.model.is_empty() && !config.base_url.contains(METHOD) {
            return Err(ProviderError::config(
                "no model is named; set one, such as with GEMINI_MODEL",
            ));
        }
        request::body(body)
    }

    fn dropped_fields(&self, request: &Request, config: &HttpConfig) -> Vec<Text> {
        let is_vertex = config.base_url.contains("aiplatform");
        let fields = [
            ("metadata", !request.metadata.is_empty() && !is_vertex),
            ("strict tools", request.tools.iter().any(|tool| tool.strict)),
        ];
        fields.iter().filter(|field| field.1).map(|field| Text::from(field.0)).collect()
    }

    fn schema_rules(&self, _config: &HttpConfig) -> SchemaRules {
        SchemaRules::GEMINI
    }

    fn decoder(&self, config: &HttpConfig) -> GeminiDecoder {
        GeminiDecoder::new(config.limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_must_be_named_even_at_a_server_of_one_s_own() {
        let mut config = GenerateContent::defaults();
        config.base_url = "http://h".into();
        let request = Request::prompt("x");
        let error = GenerateContent.body(BodyWriter::new(PROTOCOL, &request, &config)).unwrap_err();
        assert!(error.to_string().contains("GEMINI_MODEL"), "{error}");
    }
}
