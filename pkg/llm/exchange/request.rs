//! Requests to a model.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::RequestOwner;
use forgeline_types::{Message, Text, Transcript, setters};

/// A request to a model. Fields left at their default are not sent.
///
/// A field that a provider does not support is an error, or is reported by an event named
/// [`DEGRADED`](super::DEGRADED) if the request makes sense without it.
///
/// # Examples
///
/// ```
/// use forgeline::llm::Request;
///
/// let request = Request::prompt("What is 6 × 7?").max_tokens(64).temperature(0.0);
/// assert_eq!(request.messages.len(), 1);
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Request {
    /// Standing instructions. Default: none.
    pub system: Option<Arc<str>>,
    /// The conversation.
    pub messages: Transcript,
    /// Tools for native function calling. Default: none.
    pub tools: Arc<[ToolSpec]>,
    /// The tools that the model may or must call. Default: the model decides.
    pub tool_choice: Option<ToolChoice>,
    /// `false` asks for at most one call per response. Default: the provider's.
    pub parallel_tool_calls: Option<bool>,
    /// The maximum number of tokens of the answer. Default: the provider's.
    pub max_tokens: Option<u32>,
    /// Sampling temperature. Default: the provider's.
    pub temperature: Option<f32>,
    /// Nucleus sampling. Default: the provider's.
    pub top_p: Option<f32>,
    /// Sampling among the k most likely tokens. Default: the provider's.
    pub top_k: Option<u32>,
    /// Seed for repeatable sampling. Default: none.
    pub seed: Option<u64>,
    /// Texts that end the answer. Default: none.
    pub stop: Vec<String>,
    /// The reasoning before the answer. Default: the provider's.
    pub thinking: Option<Thinking>,
    /// The effort of reasoning, named as by the provider, such as `low`. Default: its own.
    pub reasoning_effort: Option<Text>,
    /// The part of the prompt that the provider is to cache, which makes the next request cheaper.
    /// Default: what it caches automatically.
    pub cache: Option<PromptCache>,
    /// Information about the request for the provider's records, such as `user_id`. Default: none.
    pub metadata: BTreeMap<String, String>,
    /// The form of the answer. Default: free text.
    pub response_format: Option<ResponseFormat>,
    /// Raw fields merged into the request body; they take precedence over fields made from those above.
    pub extra: Map<String, Value>,
    /// The number of attempts that this request has already cost in another form; they count toward
    /// [`RetryPolicy::max_attempts`](crate::RetryPolicy::max_attempts), but at least one further attempt is made in any
    /// case. Not serialized. Default: 0.
    #[serde(skip)]
    pub attempts_made: u32,
    /// The person or program for which the request is sent; an agent sets the caller of its run. Not serialized. Default: none.
    #[serde(skip)]
    pub owner: Option<RequestOwner>,
}

impl Request {
    /// Creates a request with this conversation.
    #[must_use]
    pub fn new(messages: Transcript) -> Self {
        Self { messages, ..Self::default() }
    }

    /// Creates a request with a single user message.
    #[must_use]
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::new(Transcript::from_iter([Message::user(text)]))
    }

    setters! {
        Request:
        system(some into Arc<str>),
        tools(into Arc<[ToolSpec]>),
        tool_choice(some ToolChoice),
        parallel_tool_calls(some bool),
        max_tokens(some u32),
        temperature(some f32),
        top_p(some f32),
        top_k(some u32),
        seed(some u64),
        stop(Vec<String>),
        reasoning_effort(some into Text),
        thinking(some Thinking),
        cache(some PromptCache),
        response_format(some ResponseFormat),
        attempts_made(u32),
        owner(some RequestOwner),
    }

    /// Adds an entry to [`metadata`](Self::metadata).
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Adds a field to [`extra`](Self::extra).
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(key.into(), value.into());
        self
    }
}

/// A tool as the model sees it.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{Request, ToolChoice, ToolSpec};
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
/// let weather = ToolSpec::new("weather", "Returns the weather in a city.", schema).strict(true);
/// let request = Request::prompt("Will it rain in Lisbon?")
///     .tools(vec![weather])
///     .tool_choice(ToolChoice::Tool("weather".into()));
/// assert_eq!(serde_json::to_value(&request.tools[0])?["strict"], true);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
#[non_exhaustive]
pub struct ToolSpec {
    /// The tool's name, such as `calculator` or `files.read`.
    pub name: Text,
    /// The purpose of the tool, for the model.
    pub description: String,
    /// The JSON schema of the arguments.
    pub parameters: Arc<Value>,
    /// `true` if the provider must enforce the schema; a provider that cannot do so reports it. Default:
    /// `false`.
    #[serde(default)]
    pub strict: bool,
    /// `true` for a tool that the conversation has [found](forgeline_types::ToolResult::found). Such tools come after
    /// all others. A provider that supports it describes them where they were found, so that its prompt cache
    /// stays valid; any other provider describes them like all tools. Default: `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
    /// `true` for the tool with which a model finds others, which its results [name](forgeline_types::ToolResult::found).
    /// A provider whose models have a built-in tool search offers that one instead if the tool is called `tool_search`. Default: `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub searches: bool,
}

impl ToolSpec {
    /// Creates a tool with these parts.
    #[must_use]
    pub fn new(
        name: impl Into<Text>,
        description: impl Into<String>,
        parameters: impl Into<Arc<Value>>,
    ) -> Self {
        let (name, description, parameters) = (name.into(), description.into(), parameters.into());
        Self { name, description, parameters, strict: false, deferred: false, searches: false }
    }

    setters! {
        ToolSpec:
        strict(bool),
        deferred(bool),
        searches(bool),
    }
}

/// The tools that the model may or must call.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{Request, ToolChoice, ToolSpec};
/// use serde_json::json;
///
/// let weather = ToolSpec::new("weather", "Forecasts.", json!({ "type": "object" }));
/// let request = Request::prompt("Berlin?").tools([weather]).tool_choice(ToolChoice::Required);
/// assert_eq!(request.tool_choice, Some(ToolChoice::Required));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// The model calls no tool.
    None,
    /// The model must call a tool.
    Required,
    /// The model must call this tool.
    Tool(Text),
}

/// The reasoning of a model before it answers.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{Request, Thinking};
///
/// let request = Request::prompt("What is 17 × 23?").thinking(Thinking::Budget(2_000));
/// assert_eq!(request.thinking, Some(Thinking::Budget(2_000)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Thinking {
    /// No reasoning.
    Off,
    /// As much reasoning as the model chooses.
    On,
    /// At most this many tokens.
    Budget(u32),
}

/// The part of the prompt that a provider is to cache.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{PromptCache, Request};
///
/// let request = Request::prompt("Go on.").system("Be brief.").cache(PromptCache::Marks);
/// assert_eq!(request.cache, Some(PromptCache::Marks));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PromptCache {
    /// No cache marks; a provider that caches automatically still does.
    Off,
    /// Marks on the last block of the instructions, of the tools, and of the conversation before its last
    /// message.
    Marks,
    /// The provider chooses the place itself.
    Automatic,
}

/// The form of the answer.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{Request, ResponseFormat};
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
/// let format = ResponseFormat::json_schema("number", schema, true);
/// let request = Request::prompt("What is 6 × 7?").response_format(format);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Any JSON object.
    JsonObject,
    /// JSON that matches a schema.
    #[non_exhaustive]
    JsonSchema {
        /// A name for the schema.
        name: Text,
        /// The schema.
        schema: Value,
        /// `true` if the provider must enforce the schema.
        strict: bool,
    },
}

impl ResponseFormat {
    /// Creates the format of JSON that matches this schema; `strict` asks the provider to guarantee it.
    #[must_use]
    pub fn json_schema(name: impl Into<Text>, schema: Value, strict: bool) -> Self {
        Self::JsonSchema { name: name.into(), schema, strict }
    }
}
