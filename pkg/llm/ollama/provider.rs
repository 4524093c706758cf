//! The `WireFormat` of Ollama.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{OllamaDecoder, PROTOCOL, message};
use crate::{
    llm::{
        ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSchemaRules,
        http::{
            BodyWriter, EnvNames, Fields, HttpConfig, HttpProvider, SamplingNames, WireFormat,
            chat, url::split,
        },
    },
    types::{Capabilities, MediaRules, Text},
};

/// Ollama, through its own `/api/chat`.
///
/// Without an address it is asked at `http://127.0.0.1:11434`. It loads the model that a request
/// names and has no default, so name one; how long it keeps it is an `extra` field,
/// `keep_alive`, and what else its `options` can be, such as `num_ctx`, joins those made of the
/// request. Thinking has no budget there, and nothing makes it call a tool: requests that want
/// such things are [`ProviderError::Unsupported`]. It caches prompts by itself, so
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
        MediaRules::default().picture_addresses(false)
    }

    fn body(&self, mut body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        options(&mut body)?;
        if offers_tools(&body)? {
            body.tools("tools", 0, |tools| tools.iter().map(chat::tool).collect());
        }
        body.chat_messages(message::encode)
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

/// Returns the address that `OLLAMA_HOST` means. The variable is the server's as well, so it may
/// lack the scheme, the host or the port, and may name the address to listen on, which cannot be
/// connected to.
fn address(host: &str) -> Text {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("", host));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if is_port(port) && (!name.contains(':') || name.ends_with(']')) => {
            (name, format!(":{port}"))
        }
        // With a scheme, it is the scheme's own port.
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

/// Returns the address of `path` of the API, in whatever spelling the user gave the base: a server's,
/// its `/api`'s, or that of its OpenAI-compatible part.
fn api(base: &str, path: &str) -> Text {
    let (mut url, query) = split(base);
    for ending in ["/chat", "/api", "/v1"] {
        url = url.strip_suffix(ending).unwrap_or(url);
    }
    Text::from(format!("{url}/api{path}{query}"))
}

/// Ollama's names.
const NAMES: SamplingNames = SamplingNames { max_tokens: "num_predict", ..SamplingNames::CHAT };

/// Writes the members that stand before the tools.
fn options(body: &mut BodyWriter<'_>) -> Result<(), ProviderError> {
    let request = body.request();
    if body.config().model.is_empty() && !body.is_set("model") {
        return Err(ProviderError::config(
            "no model is named, and Ollama has no default; `ollama list` shows those there are; name one, such as with OLLAMA_MODEL",
        ));
    }
    let mut settings = Fields::object();
    settings.sampling(request, PROTOCOL, &NAMES)?;
    let settings = settings.end();
    if let Some(Value::Object(theirs)) = request.extra.get("options") {
        // The caller's win one by one.
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

/// Returns how much the model thinks.
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

/// Returns `true` when the model gets the tools. Nothing can make it call one, or only one, but it
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

/// Returns the form of the answer. A schema is always enforced, so it has no `strict`.
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
