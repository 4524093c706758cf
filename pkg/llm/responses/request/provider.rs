//! The `WireFormat` of Responses.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    message::{self, MessageContext},
    tool_search::{self, ToolSearch},
};
use crate::{
    ProviderError, Request, ResponseFormat, SchemaRules, Thinking, ToolChoice, ToolSchemaRules,
    http::tool_names,
    http::{
        BodyWriter, EnvNames, HttpBuilder, HttpConfig, HttpProvider, SamplingNames, WireFormat,
        chat, url::is_vendors,
    },
    responses::{PROTOCOL, ResponsesDecoder},
};
use forgeline_json::subslice;
use forgeline_types::{Capabilities, MediaRules, PictureKinds};

/// The provider for OpenAI Responses, for OpenAI and compatible servers.
///
/// The whole conversation is sent with every request and the vendor is asked to store nothing; its
/// reasoning arrives encrypted and is sent back with the next request. [`Responses::store`] changes this.
///
/// The API has no `stop`, `seed` and `top_k`, and no budget for reasoning tokens: a request with
/// one of them is a [`ProviderError::Unsupported`], unless `extra` has the field for a server that supports it.
/// For servers over plain HTTP, a [`response_format`](Request::response_format) is also sent in the format of
/// Chat Completions, the only one that llama.cpp reads. [`Request::cache`] has no effect, because the
/// vendor caches automatically. Tools that the vendor runs are listed in `extra` as `tools`, together with the
/// functions of the request written out. The agent's tool search becomes the vendor's `tool_search` if the model
/// supports it, see [`Responses::tool_search`].
///
/// # Examples
///
/// ```no_run
/// use forgeline::llm::{Provider, Request, responses::OpenAiResponses};
///
/// # async fn run() -> Result<(), forgeline::llm::ProviderError> {
/// let provider = OpenAiResponses::from_env()?;
/// let request = Request::prompt("What is 6 × 7?").reasoning_effort("low");
/// let answer = provider.complete(request).await?;
/// # Ok(())
/// # }
/// ```
pub type OpenAiResponses = HttpProvider<Responses>;

/// The format of Responses.
///
/// # Examples
///
/// ```
/// use forgeline::llm::responses::OpenAiResponses;
///
/// let builder = OpenAiResponses::builder().base_url("http://127.0.0.1:8080");
/// let provider = builder.store(true).build()?;
/// # Ok::<(), forgeline::llm::ProviderError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Responses {
    /// `true` if the vendor may store requests and answers, which is its own default. Otherwise,
    /// its reasoning is requested in encrypted form. Default: `false`.
    pub store: bool,
    /// The number of tokens above which the server compacts the conversation. The result arrives as
    /// an item that only the vendor can read, and is sent back with later requests. Default: `None`, never.
    pub compact_above: Option<u64>,
    /// `true` if the model supports the vendor's `tool_search`: the agent's tool search is then sent as that, and the tools that it
    /// finds are described where they were found. Default: `None`, which means `true` for GPT-5.4 and later, except
    /// `nano` models, on the vendor's own server.
    pub tool_search: Option<bool>,
}

impl HttpBuilder<Responses> {
    /// Sets [`compact_above`](Responses::compact_above).
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::responses::OpenAiResponses;
    ///
    /// let builder = OpenAiResponses::builder().api_key("your key").model("gpt-5.2");
    /// let provider = builder.compact_above(200_000).build()?;
    /// # Ok::<(), forgeline::llm::ProviderError>(())
    /// ```
    #[must_use]
    pub fn compact_above(self, tokens: u64) -> Self {
        self.wire(|responses| responses.compact_above = Some(tokens))
    }

    /// Sets [`tool_search`](Responses::tool_search).
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::responses::OpenAiResponses;
    ///
    /// // A deployment, whose name does not say which model it is.
    /// let url = "https://acme.openai.azure.com/openai/v1";
    /// let builder = OpenAiResponses::builder().base_url(url).api_key("your key").model("ours");
    /// let provider = builder.tool_search(true).build()?;
    /// # Ok::<(), forgeline::llm::ProviderError>(())
    /// ```
    #[must_use]
    pub fn tool_search(self, is_known: bool) -> Self {
        self.wire(|responses| responses.tool_search = Some(is_known))
    }

    /// Sets [`store`](Responses::store).
    #[must_use]
    pub fn store(self, store: bool) -> Self {
        self.wire(|responses| responses.store = store)
    }
}

impl WireFormat for Responses {
    type Decoder = ResponsesDecoder;

    const PROVIDER: &'static str = PROTOCOL;

    const ENV: EnvNames = EnvNames::new("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL");

    const PATH: &'static str = "/responses";

    const STREAM_FIELD: Option<&'static str> = Some("stream");

    fn defaults() -> HttpConfig {
        HttpConfig::new("https://api.openai.com/v1", Capabilities::ALL.prompt_caching(false))
    }

    fn media_rules(&self, config: &HttpConfig) -> MediaRules {
        let is_vendors = is_vendors(&config.base_url, &Self::defaults().base_url);
        let pictures = if is_vendors { PictureKinds::Web } else { PictureKinds::Any };
        MediaRules::default().pictures(pictures)
    }

    fn compacts(&self) -> bool {
        self.compact_above.is_some()
    }

    fn defers_tools(&self, config: &HttpConfig) -> bool {
        self.tool_search.unwrap_or_else(|| tool_search::knows_search(config))
    }

    fn body(&self, mut body: BodyWriter<'_>) -> Result<Vec<Bytes>, ProviderError> {
        let request = body.request();
        let is_stored = request.extra.get("store").and_then(Value::as_bool).unwrap_or(self.store);
        options(&mut body, self.store)?;
        let compaction = |above| json!([{ "type": "compaction", "compact_threshold": above }]);
        body.optional("context_management", self.compact_above.map(compaction));
        let sent = if body.is_set("input") { &[] } else { request.messages.messages() };
        let search = ToolSearch::from_request(request, sent, body.config(), self.tool_search);
        let search = search.as_ref();
        let first = search.map_or_else(|| Arc::clone(&request.tools), ToolSearch::first);
        body.tools_of("tools", &first, u8::from(search.is_some()), |tools| {
            tools.iter().map(|tool| tool_search::tool(tool, search.is_some())).collect()
        });
        if let Some(system) = &request.system {
            body.system("instructions", system, 0, |text| json!(text));
        }
        body.variant(u8::from(is_stored) | u8::from(search.is_some()) << 1);
        if search.is_some() {
            body.refer_to_tools();
        }
        let mut at = body.known();
        body.messages("input", |message, items| {
            let before = subslice(request.messages.messages(), ..at);
            at += 1;
            message::encode(message, MessageContext { before, is_stored, search }, items)
        })
    }

    fn schema_rules(&self, config: &HttpConfig) -> SchemaRules {
        let url = &config.base_url;
        let is_openai = url.contains("api.openai.com") || url.contains(".openai.azure.com");
        // Other servers honor more, or something else.
        if is_openai { SchemaRules::OPENAI } else { SchemaRules::ANY }
    }

    fn tool_schema_rules(&self, _config: &HttpConfig) -> ToolSchemaRules {
        ToolSchemaRules::RESPONSES
    }

    fn decoder(&self, config: &HttpConfig) -> ResponsesDecoder {
        ResponsesDecoder::new(config.limits)
    }
}

/// The API's names; it has no `top_k`, `seed` and `stop`.
const NAMES: SamplingNames = SamplingNames {
    max_tokens: "max_output_tokens",
    top_k: "",
    seed: "",
    stop: "",
    ..SamplingNames::CHAT
};

/// Writes the members before the tools.
fn options(body: &mut BodyWriter<'_>, store: bool) -> Result<(), ProviderError> {
    let (request, config) = (body.request(), body.config());
    if matches!(request.thinking, Some(Thinking::Budget(_))) && !body.is_set("reasoning") {
        return Err(body.unsupported("a number of tokens for reasoning; set `reasoning_effort`"));
    }
    body.begin();
    body.field("store", &store);
    if !store && may_reason(&config.model) {
        body.field("include", &["reasoning.encrypted_content"]);
    }
    body.sampling(&NAMES)?;
    body.optional("reasoning", reasoning(request));
    body.optional("text", request.response_format.as_ref().map(text));
    body.metadata("metadata");
    body.tool_choice(choice);
    if config.base_url.starts_with("http://") {
        // llama.cpp reads the member of Chat Completions even here; hosted vendors reject it.
        let format = request.response_format.as_ref().map(chat::response_format);
        body.optional("response_format", format);
    }
    Ok(())
}

/// Returns `true` if the model may support reasoning. OpenAI's older models do not, and reject a request
/// for it.
fn may_reason(model: &str) -> bool {
    let name = model.rsplit_once('/').map_or(model, |(_, name)| name);
    !["gpt-3", "gpt-4", "chatgpt-"].iter().any(|family| name.starts_with(family))
}

/// Returns the reasoning options. A summary is the part of the reasoning that can be shown; it is requested if thinking is
/// wanted.
fn reasoning(request: &Request) -> Option<Value> {
    let mut reasoning = Map::new();
    let effort = match request.thinking {
        Some(Thinking::Off) => Some("none"),
        Some(Thinking::On | Thinking::Budget(_)) | None => request.reasoning_effort.as_deref(),
    };
    reasoning.extend(effort.map(|effort| ("effort".to_owned(), json!(effort))));
    if request.thinking == Some(Thinking::On) {
        reasoning.insert("summary".to_owned(), json!("auto"));
    }
    (!reasoning.is_empty()).then_some(Value::Object(reasoning))
}

fn text(format: &ResponseFormat) -> Value {
    let format = match format {
        ResponseFormat::JsonObject => json!({ "type": "json_object" }),
        ResponseFormat::JsonSchema { name, schema, strict } => {
            json!({ "type": "json_schema", "name": name, "schema": schema, "strict": strict })
        }
    };
    json!({ "format": format })
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Tool(name) => json!({ "type": "function", "name": tool_names::encode(name) }),
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => chat::tool_choice(choice),
    }
}
