//! The `WireFormat` of Ollama.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::message;
use crate::{
    ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSchemaRules,
    http::{
        BodyWriter, EnvNames, HttpConfig, HttpProvider, JsonFields, SamplingNames, WireFormat,
        chat, url::split,
    },
    ollama::{OllamaDecoder, PROTOCOL},
};
use forgeline_types::{Capabilities, MediaRules, PictureKinds, Text};

/// The provider for Ollama, through its own `/api/chat`.
///
/// The default base URL is `http://127.0.0.1:11434`. The server loads the model that a request
/// names and has no default model, so set one; the time for which it stays loaded is an `extra` field,
/// `keep_alive`, and other `options`, such as `num_ctx`, are merged with those made from the
/// request. Thinking has no budget, and the model cannot be made to call a tool: requests that need
/// these features are [`ProviderError::Unsupported`]. The server caches prompts automatically, so
/// [`Request::cache`] and [`Request::metadata`] are not sent.
///
/// # Examples
///
/// ```no_run
/// use forgeline::llm::{Provider, Request, ollama::Ollama};
///
/// # async fn run() -> Result<(), forgeline::llm::ProviderError> {
/// let provider = Ollama::builder().model("qwen3:4b").build()?;
/// let request = Request::prompt("What is 6 × 7?").extra("keep_alive", "10m");
/// let answer = provider.complete(request).await?;
/// # Ok(())
/// # }
/// ```
pub type Ollama = HttpProvider<OllamaChat>;

/// The format of Ollama's `/api/chat`.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{http::HttpProvider, ollama::OllamaChat};
///
/// let builder = HttpProvider::<OllamaChat>::builder().base_url("http://127.0.0.1:11434");
/// let provider = builder.api_key("your key").model("m").build()?;
/// # drop(provider);
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct OllamaChat;

impl WireFormat for OllamaChat {
    type Decoder = OllamaDecoder;

    const PROVIDER: &'static str = PROTOCOL;

    const ENV: EnvNames = EnvNames::new("OLLAMA_API_KEY", "OLLAMA_HOST", "OLLAMA_MODEL");

    const PATH: &'static str = "/chat";

    const ACCEPT: &'static str = "application/x-ndjson";

    const NEEDS_MODEL: bool = true;

    const STREAM_FIELD: Option<&'static str> = Some("stream");

    fn defaults() -> HttpConfig {
        let able = Capabilities::ALL.documents(false).prompt_caching(false);
        HttpConfig::new("http://127.0.0.1:11434", able)
    }

    fn address(value: &str) -> Text {
        address(value)
    }

    fn endpoint(&self, config: &HttpConfig) -> Text {
        api(&config.base_url, Self::PATH)
    }

    fn models_endpoint(&self, config: &HttpConfig) -> Text {
        api(&config.base_url, "/tags")
    }

    fn media_rules(&self, _: &HttpConfig) -> MediaRules {
        // The server decodes no others.
        MediaRules::default().picture_addresses(false).pictures(PictureKinds::Web)
    }

    fn body(&self, mut body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        options(&mut body)?;
        if offers_tools(&body)? {
            body.tools("tools", 0, |tools| tools.iter().map(chat::tool).collect());
        }
        body.chat_messages(message::encode)
    }

    fn alternates_roles(&self, _config: &HttpConfig) -> bool {
        true
    }

    fn dropped_fields(&self, request: &Request, _config: &HttpConfig) -> Vec<Text> {
        let fields = [
            ("metadata", !request.metadata.is_empty()),
            ("strict tools", request.tools.iter().any(|tool| tool.strict)),
        ];
        let left_out = fields.iter().filter(|field| field.1).map(|field| Text::from(field.0));
        left_out.chain(chat::moved_parts(request)).collect()
    }

    fn tool_schema_rules(&self, _config: &HttpConfig) -> ToolSchemaRules {
        ToolSchemaRules::OLLAMA
    }

    fn decoder(&self, config: &HttpConfig) -> OllamaDecoder {
        OllamaDecoder::new(config.limits)
    }
}

/// Returns the base URL for the value of `OLLAMA_HOST`. The server reads the variable too, so it may
/// lack the scheme, the host or the port, and may name the address to listen on, which clients cannot
/// connect to.
fn address(host: &str) -> Text {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("", host));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if is_port(port) && (!name.contains(':') || name.ends_with(']')) => {
            (name, format!(":{port}"))
        }
        // With a scheme, the default is that scheme's port.
        _ if scheme.is_empty() => (authority, ":11434".to_owned()),
        _ => (authority, String::new()),
    };
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" | "::" => "[::1]",
        name => name,
    };
    let scheme = if scheme.is_empty() { "http" } else { scheme };
    Text::from(format!("{scheme}://{name}{port}{path}"))
}

/// Returns the URL of `path` in the API, for any form of base URL that the user gave: that of the server,
/// of its `/api`, or of its OpenAI-compatible API.
fn api(base: &str, path: &str) -> Text {
    let (mut url, query) = split(base);
    for ending in ["/chat", "/api", "/v1"] {
        url = url.strip_suffix(ending).unwrap_or(url);
    }
    Text::from(format!("{url}/api{path}{query}"))
}

/// Ollama's names.
const NAMES: SamplingNames = SamplingNames { max_tokens: "num_predict", ..SamplingNames::CHAT };

/// Writes the members before the tools.
fn options(body: &mut BodyWriter<'_>) -> Result<(), ProviderError> {
    let request = body.request();
    if body.config().model.is_empty() && !body.is_set("model") {
        return Err(ProviderError::config(
            "no model is set, and Ollama has no default; `ollama list` shows the available models; set one, for example in OLLAMA_MODEL",
        ));
    }
    let mut settings = JsonFields::object();
    settings.sampling(request, PROTOCOL, &NAMES)?;
    let settings = settings.end();
    if let Some(Value::Object(theirs)) = request.extra.get("options") {
        // The caller's options take precedence one by one.
        let ours = settings.as_ref().map(|ours| serde_json::from_slice::<Map<_, _>>(ours));
        let mut options = ours.and_then(Result::ok).unwrap_or_default();
        options.extend(theirs.clone());
        body.extra_mut().insert("options".to_owned(), Value::Object(options));
    }
    body.begin();
    body.optional("think", think(body)?);
    body.optional("format", request.response_format.as_ref().map(format));
    if let Some(settings) = settings {
        body.raw("options", settings);
    }
    Ok(())
}

/// Returns the thinking setting.
fn think(body: &BodyWriter<'_>) -> Result<Option<Value>, ProviderError> {
    let request = body.request();
    let effort = request.reasoning_effort.as_ref().map(|effort| json!(effort));
    match request.thinking {
        None => Ok(effort),
        Some(Thinking::Off) => Ok(Some(json!(false))),
        Some(Thinking::On) => Ok(Some(effort.unwrap_or(json!(true)))),
        Some(Thinking::Budget(_)) => Err(body.unsupported(
            "a budget of thinking tokens; set `reasoning_effort` to low, medium or high",
        )),
    }
}

/// Returns `true` if the model is given the tools. Nothing can make it call one, or only one, but it
/// calls none that it does not know.
fn offers_tools(body: &BodyWriter<'_>) -> Result<bool, ProviderError> {
    let request = body.request();
    match request.tool_choice {
        _ if request.tools.is_empty() => Ok(false),
        Some(ToolChoice::None) => Ok(false),
        Some(ToolChoice::Required | ToolChoice::Tool(_)) => {
            Err(body.unsupported("a forced tool call; leave `tool_choice` to the model"))
        }
        None | Some(ToolChoice::Auto) if request.parallel_tool_calls == Some(false) => {
            Err(body.unsupported("a limit to one call; leave `parallel_tool_calls` unset"))
        }
        None | Some(ToolChoice::Auto) => Ok(true),
    }
}

/// Returns the format of the answer. A schema is always enforced, so there is no `strict`.
fn format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::JsonObject => json!("json"),
        ResponseFormat::JsonSchema { schema, .. } => schema.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_spelling_of_the_host_is_an_address() {
        #[rustfmt::skip]
        let cases = [
            ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
            ("127.0.0.1:8000",         "http://127.0.0.1:8000"),
            ("gpu.lan",                "http://gpu.lan:11434"),
            (" gpu.lan/ ",             "http://gpu.lan:11434"),
            (":8000",                  "http://127.0.0.1:8000"),
            ("0.0.0.0",                "http://127.0.0.1:11434"),
            ("http://0.0.0.0:8000",    "http://127.0.0.1:8000"),
            ("[::]:8000",              "http://[::1]:8000"),
            ("[fd00::1]",              "http://[fd00::1]:11434"),
            ("https://ollama.com",     "https://ollama.com"),
            ("https://h/ollama/",      "https://h/ollama"),
        ];
        for (host, want) in cases {
            assert_eq!(address(host), want, "{host}");
        }
    }

    #[test]
    fn no_key_is_needed_but_a_model_is() {
        assert!(Ollama::builder().model("m").build().is_ok());
        let error = Ollama::builder().build().unwrap_err();
        assert!(error.to_string().contains("OLLAMA_MODEL"), "{error}");
        let remote = || Ollama::builder().base_url("https://ollama.com");
        let error = remote().api_key("k").build().unwrap_err();
        assert!(error.to_string().contains("OLLAMA_MODEL"), "{error}");
        assert!(remote().model("m").build().is_ok());
    }
}
