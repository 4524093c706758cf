//! Requests to a model.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::types::{Message, Text, Transcript, setters};

/// One request to a model. Fields left at their default are not sent.
///
/// A field that a provider does not support is an error, or reported by an event named
/// [`DEGRADED`](super::DEGRADED) if the request can do without it.
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
#[non_exhaustive]
#[serde(default)]
pub struct Request {
    /// Standing instructions. Default: none.
    pub system: Option<Arc<str>>,
    /// The conversation.
    pub messages: Transcript,
    /// Tools for native function calling. Default: none.
    pub tools: Arc<[ToolSpec]>,
    /// The tools that the model may or must call. Default: the model decides.
    pub tool_choice: Option<ToolChoice>,
    /// `false` asks for at most one call in a response. Default: the provider's.
    pub parallel_tool_calls: Option<bool>,
    /// Most tokens of the answer. Default: the provider's.
    pub max_tokens: Option<u32>,
    /// Sampling temperature. Default: the provider's.
    pub temperature: Option<f32>,
    /// Nucleus sampling. Default: the provider's.
    pub top_p: Option<f32>,
    /// Sampling among the k likeliest tokens. Default: the provider's.
    pub top_k: Option<u32>,
    /// Seed for repeatable sampling. Default: none.
    pub seed: Option<u64>,
    /// Texts that end the answer. Default: none.
    pub stop: Vec<String>,
    /// The reasoning before the answer. Default: the provider's.
    pub thinking: Option<Thinking>,
    /// The effort of reasoning, in the provider's words, such as `low`. Default: its own.
    pub reasoning_effort: Option<Text>,
    /// The part of the prompt that the provider is to keep, so that the next request is cheaper.
    /// Default: what it keeps by itself.
    pub cache: Option<PromptCache>,
    /// Facts about the request for the provider's records, such as `user_id`. Default: none.
    pub metadata: BTreeMap<String, String>,
    /// The form of the answer. Default: free text.
    pub response_format: Option<ResponseFormat>,
    /// Raw fields merged into the request body; they win over fields made from the above.
    pub extra: Map<String, Value>,
    /// The number of requests that this one has cost already in another form; they count toward
    /// [`RetryPolicy::max_attempts`](super::RetryPolicy::max_attempts), of which one is made in any
    /// case. Not written as JSON. Default: 0.
    #[serde(skip)]
    pub attempts_made: u32,
}

impl Request {
    /// Creates a request of this conversation.
    #[must_use]
    pub fn new(messages: Transcript) -> Self {
        Self { messages, ..Self::default() }
    }

    /// Creates a request of one user message.
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
    }

    /// Adds to [`metadata`](Self::metadata).
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Adds to [`extra`](Self::extra).
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
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub struct ToolSpec {
    /// The tool's name, such as `calculator` or `files.read`.
    pub name: Text,
    /// Its purpose, for the model.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: Value,
    /// `true` if the provider must hold the model to the schema; one that cannot reports it. Default:
    /// `false`.
    #[serde(default)]
    pub strict: bool,
    /// `true` for a tool that the conversation has [found](crate::types::ToolResult::found). Such tools stand behind
    /// all others. A provider that can describes them where they were found, so that what it keeps of the prompt
    /// stays the same; any other describes them as it does all. Default: `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
    /// `true` for the tool by which a model finds others, which its results [name](crate::types::ToolResult::found).
    /// A provider whose models know such a tool offers it as theirs, if it is called `tool_search`. Default: `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub searches: bool,
}

impl ToolSpec {
    /// Creates a tool with these parts.
    #[must_use]
    pub fn new(name: impl Into<Text>, description: impl Into<String>, parameters: Value) -> Self {
        let (name, description) = (name.into(), description.into());
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No tool.
    None,
    /// Some tool.
    Required,
    /// This tool.
    Tool(Text),
}

/// The reasoning of a model before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Thinking {
    /// None.
    Off,
    /// As much as the model sees fit.
    On,
    /// At most this many tokens.
    Budget(u32),
}

/// The part of the prompt that a provider is to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PromptCache {
    /// No marks; a provider that caches by itself still does.
    Off,
    /// The last block of the instructions, of the tools and of the conversation before its last
    /// message are marked.
    Marks,
    /// The provider finds the place itself.
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
/// let format = ResponseFormat::JsonSchema { name: "number".into(), schema, strict: true };
/// let request = Request::prompt("What is 6 × 7?").response_format(format);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Any JSON object.
    JsonObject,
    /// JSON that obeys a schema.
    JsonSchema {
        /// A name for the schema.
        name: Text,
        /// The schema.
        schema: Value,
        /// `true` if the provider must enforce it.
        strict: bool,
    },
}
