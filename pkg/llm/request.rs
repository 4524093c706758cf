//! What a provider is asked.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use crate::types::{Message, Text, Transcript};

/// One request to a model. Fields left at their default are not sent. What a provider cannot do is an
/// error, or told by an event named [`DEGRADED`](super::DEGRADED) if it can be done without.
///
/// # Examples
///
/// ```
/// use forgeline::llm::Request;
///
/// let request = Request::prompt("What is 6 × 7?").max_tokens(64).temperature(0.0);
/// assert_eq!(request.messages.len(), 1);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Request {
    /// Standing instructions. Default: none.
    pub system: Option<Arc<str>>,
    /// The conversation.
    pub messages: Transcript,
    /// Tools for native function calling. Default: none.
    pub tools: Arc<[ToolSpec]>,
    /// Which tools the model may or must call. Default: the model decides.
    pub tool_choice: Option<ToolChoice>,
    /// Whether several calls in one response are welcome. Default: the provider's.
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
    /// Whether the model reasons before it answers. Default: the provider's.
    pub thinking: Option<Thinking>,
    /// How much reasoning is wanted, in the provider's words, such as `low`. Default: its own.
    pub reasoning_effort: Option<Text>,
    /// What the provider is to keep of the prompt, so that the next request is cheaper. Default: what
    /// it does by itself.
    pub cache: Option<PromptCache>,
    /// Words about the request for the provider's records, such as `user_id`. Default: none.
    pub metadata: BTreeMap<String, String>,
    /// The form of the answer. Default: free text.
    pub response_format: Option<ResponseFormat>,
    /// Raw fields merged into the request body; they win over fields made from the above.
    pub extra: Map<String, Value>,
}

impl Request {
    /// A request of this conversation.
    #[must_use]
    pub fn new(messages: Transcript) -> Self {
        Self { messages, ..Self::default() }
    }

    /// A request of one user message.
    #[must_use]
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::new(Transcript::from_iter([Message::user(text)]))
    }

    /// Sets [`system`](Self::system).
    #[must_use]
    pub fn system(mut self, system: impl Into<Arc<str>>) -> Self {
        self.system = Some(system.into());
        self
    }

    /// Sets [`tools`](Self::tools).
    #[must_use]
    pub fn tools(mut self, tools: impl Into<Arc<[ToolSpec]>>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Sets [`tool_choice`](Self::tool_choice).
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// Sets [`parallel_tool_calls`](Self::parallel_tool_calls).
    #[must_use]
    pub fn parallel_tool_calls(mut self, welcome: bool) -> Self {
        self.parallel_tool_calls = Some(welcome);
        self
    }

    /// Sets [`max_tokens`](Self::max_tokens).
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets [`temperature`](Self::temperature).
    #[must_use]
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets [`top_p`](Self::top_p).
    #[must_use]
    pub fn top_p(mut self, share: f32) -> Self {
        self.top_p = Some(share);
        self
    }

    /// Sets [`top_k`](Self::top_k).
    #[must_use]
    pub fn top_k(mut self, tokens: u32) -> Self {
        self.top_k = Some(tokens);
        self
    }

    /// Sets [`seed`](Self::seed).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets [`stop`](Self::stop).
    #[must_use]
    pub fn stop(mut self, texts: Vec<String>) -> Self {
        self.stop = texts;
        self
    }

    /// Sets [`reasoning_effort`](Self::reasoning_effort).
    #[must_use]
    pub fn reasoning_effort(mut self, effort: impl Into<Text>) -> Self {
        self.reasoning_effort = Some(effort.into());
        self
    }

    /// Sets [`thinking`](Self::thinking).
    #[must_use]
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = Some(thinking);
        self
    }

    /// Sets [`cache`](Self::cache).
    #[must_use]
    pub fn cache(mut self, cache: PromptCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Adds to [`metadata`](Self::metadata).
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Sets [`response_format`](Self::response_format).
    #[must_use]
    pub fn response_format(mut self, format: ResponseFormat) -> Self {
        self.response_format = Some(format);
        self
    }

    /// Adds a raw field to the request body.
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(key.into(), value.into());
        self
    }
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The tool's name, such as `calculator` or `files.read`.
    pub name: Text,
    /// What it does, for the model.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: Value,
    /// Whether the provider must hold the model to the schema; those that cannot tell so. Default:
    /// no.
    pub strict: bool,
}

impl ToolSpec {
    /// A tool with these parts.
    #[must_use]
    pub fn new(name: impl Into<Text>, description: impl Into<String>, parameters: Value) -> Self {
        Self { name: name.into(), description: description.into(), parameters, strict: false }
    }

    /// Sets [`strict`](Self::strict).
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }
}

/// Which tools the model may or must call.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Whether a model reasons before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// It does not.
    Off,
    /// It does as it sees fit.
    On,
    /// It does, with at most so many tokens.
    Budget(u32),
}

/// What a provider is to keep of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptCache {
    /// Nothing is marked; a provider that caches by itself still does.
    Off,
    /// The last block of the instructions, of the tools and of the conversation before its last
    /// message are marked.
    Marks,
    /// The provider finds the place itself.
    Automatic,
}

/// The form of the answer.
#[derive(Debug, Clone, PartialEq)]
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
        /// Whether the provider must enforce it.
        strict: bool,
    },
}
