//! The `WireFormat` of Gemini.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::message;
use crate::{
    ProviderError, Request, ResponseFormat, SchemaRules, Thinking, ToolChoice, ToolSchemaRules,
    ToolSpec,
    gemini::{GeminiDecoder, PROTOCOL},
    http::tool_names,
    http::{
        BodyWriter, EnvNames, HttpConfig, HttpProvider, JsonFields, JsonItems, SamplingNames,
        WireFormat, asks_for_one, chat, instructions, joins_results,
        url::{endpoint, split, with_query},
    },
};
use forgeline_parser::ThinkingDialect;
use forgeline_types::{Capabilities, MediaRules, Message, PictureKinds, Text};

/// The provider for Gemini, through Google's API for developers or Vertex AI.
///
/// For Vertex AI, set the base URL up to the publisher or endpoint, as in
/// `https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/publishers/google`,
/// and
/// [`authorize`](crate::http::HttpBuilder::authorize), which supplies the bearer token.
///
/// The fields of a [`Request`] map as follows:
/// * `thinking` and `reasoning_effort` become the `thinkingConfig`; thoughts are requested unless
///   thinking is off. An effort combined with a budget, or with thinking turned off, is a
///   [`ProviderError::Config`].
/// * `cache` has no counterpart: Gemini caches prompts automatically. A cache created beforehand is named in
///   `extra` (`cachedContent`).
/// * `metadata` is sent to Vertex AI as `labels`; the API for developers has no place for it.
/// * `parallel_tool_calls` cannot be turned off: [`ProviderError::Unsupported`].
/// * The name of a document has no place and is not sent. System messages at the beginning of the conversation
///   are instructions; later ones are [`ProviderError::Unsupported`].
/// * Signatures by Gemini are sent back with their parts; those of other vendors are not. A call by another
///   vendor's model is sent without one, which Gemini 3 accepts only in completed turns: switch
///   models between tasks, not in the middle of a tool loop.
/// * Fields of `generationConfig` in `extra` are merged with the library's, and take precedence.
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
///
/// # Examples
///
/// ```
/// use forgeline::llm::{http::HttpProvider, gemini::GenerateContent};
///
/// let builder = HttpProvider::<GenerateContent>::builder().base_url("https://generativelanguage.googleapis.com");
/// let provider = builder.api_key("your key").model("m").build()?;
/// # drop(provider);
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
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
        // Thoughts are separate parts; tags in the text are plain text.
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

    /// Returns the URL of the model list, which is the parent of a model's URL.
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

    fn body(&self, mut body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        let config = body.config();
        if config.model.is_empty() && !config.base_url.contains(METHOD) {
            return Err(ProviderError::config(
                "no model is set; set one, for example in GEMINI_MODEL",
            ));
        }
        let request = body.request();
        if request.parallel_tool_calls == Some(false) && !request.tools.is_empty() {
            return Err(body.unsupported("one call at a time; leave parallel_tool_calls unset"));
        }
        generation_config(&mut body)?;
        // Vertex AI supports labels, the API for developers does not.
        if body.config().base_url.contains("aiplatform") {
            body.metadata("labels");
        }
        if !request.tools.is_empty() {
            body.optional("toolConfig", request.tool_choice.as_ref().map(choice));
        }
        body.tools("tools", 0, tools);
        let write = |texts: &[&str]| {
            let parts: Vec<_> = texts.iter().map(|text| json!({ "text": text })).collect();
            json!({ "parts": parts })
        };
        // Instructions in a conversation that is not sent do not count.
        match &request.system {
            Some(system) if body.is_set("contents") => {
                body.system("systemInstruction", system, 0, |text| write(&[text]));
            }
            None if body.is_set("contents") => {}
            _ => instructions::write(&mut body, "systemInstruction", 0, write)?,
        }
        let is_third = message::is_third(&body.config().model);
        body.array("contents", None, |encoded, history| {
            let encode = |run: &[Arc<Message>], items: &mut JsonItems<'_>| {
                message::encode(run, is_third, items)
            };
            encoded.append(history, usize::MAX, joins_results, encode)?;
            Ok(None)
        })
    }

    fn media_rules(&self, _config: &HttpConfig) -> MediaRules {
        MediaRules::default().pictures(PictureKinds::Photo)
    }

    fn dropped_fields(&self, request: &Request, config: &HttpConfig) -> Vec<Text> {
        let is_vertex = config.base_url.contains("aiplatform");
        let fields = [
            ("metadata", !request.metadata.is_empty() && !is_vertex),
            ("strict tools", request.tools.iter().any(|tool| tool.strict)),
        ];
        let left_out = fields.iter().filter(|field| field.1).map(|field| Text::from(field.0));
        let moved = chat::moved_parts(request).filter(|_| !message::is_third(&config.model));
        left_out.chain(moved).collect()
    }

    fn schema_rules(&self, _config: &HttpConfig) -> SchemaRules {
        SchemaRules::GEMINI
    }

    fn tool_schema_rules(&self, _config: &HttpConfig) -> ToolSchemaRules {
        ToolSchemaRules::GEMINI
    }

    fn decoder(&self, config: &HttpConfig) -> GeminiDecoder {
        GeminiDecoder::new(config.limits)
    }

    fn answer_decoder(&self, config: &HttpConfig, request: &Request) -> GeminiDecoder {
        let theirs = request.extra.get(CONFIG);
        let count = theirs.and_then(|theirs| theirs.get("candidateCount"));
        self.decoder(config).merge_choices(asks_for_one(count))
    }
}

const CONFIG: &str = "generationConfig";

/// Gemini's names.
const NAMES: SamplingNames = SamplingNames {
    max_tokens: "maxOutputTokens",
    top_p: "topP",
    top_k: "topK",
    seed: "seed",
    stop: "stopSequences",
};

/// Writes the library's generation settings merged with the caller's, which take precedence one by one.
fn generation_config(body: &mut BodyWriter<'_>) -> Result<(), ProviderError> {
    let request = body.request();
    let none = Map::new();
    let theirs = match request.extra.get(CONFIG) {
        None => &none,
        Some(Value::Object(theirs)) => {
            body.extra_mut().shift_remove(CONFIG);
            theirs
        }
        // Any other value is sent as the caller gave it.
        Some(_) => return Ok(()),
    };
    let mut fields = JsonFields::new(Cow::Borrowed(theirs));
    fields.sampling(request, PROTOCOL, &NAMES)?;
    if let Some(format) = &request.response_format {
        fields.field("responseMimeType", "application/json");
        if let ResponseFormat::JsonSchema { schema, .. } = format {
            fields.field("responseJsonSchema", schema);
        }
    }
    if !fields.is_set("thinkingConfig")
        && let Some(config) = thinking(request)?
    {
        fields.raw("thinkingConfig", &config);
    }
    fields.extra();
    if let Some(config) = fields.end() {
        body.raw(CONFIG, config);
    }
    Ok(())
}

/// Returns the thinking settings. A budget of -1 lets the model choose; a level already is a choice.
fn thinking(request: &Request) -> Result<Option<Bytes>, ProviderError> {
    let level = request.reasoning_effort.as_deref();
    let (thoughts, budget) = match request.thinking {
        Some(Thinking::Off | Thinking::Budget(_)) if level.is_some() => {
            return Err(ProviderError::config(
                "a thinking budget and a reasoning effort exclude each other; set one of them",
            ));
        }
        None => (None, None),
        Some(Thinking::Off) => (None, Some(0)),
        Some(Thinking::On) => (Some(true), level.is_none().then_some(-1)),
        Some(Thinking::Budget(tokens)) => (Some(true), Some(i64::from(tokens))),
    };
    let config = JsonFields::object().with_some("includeThoughts", thoughts);
    Ok(config.with_some("thinkingBudget", budget).with_some("thinkingLevel", level).end())
}

fn choice(choice: &ToolChoice) -> Value {
    let config = match choice {
        ToolChoice::Auto => json!({ "mode": "AUTO" }),
        ToolChoice::None => json!({ "mode": "NONE" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Tool(name) => {
            json!({ "mode": "ANY", "allowedFunctionNames": [tool_names::encode(name)] })
        }
    };
    json!({ "functionCallingConfig": config })
}

/// Encodes the tools. JSON schemas are sent as such: the older `parameters` accepts only a part of `OpenAPI`.
fn tools(tools: &[ToolSpec]) -> Value {
    let declarations = tools.iter().map(|tool| {
        json!({
            "name": tool_names::encode(&tool.name),
            "description": tool.description,
            "parametersJsonSchema": tool.parameters,
        })
    });
    json!([{ "functionDeclarations": declarations.collect::<Vec<_>>() }])
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
