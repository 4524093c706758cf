//! What a consumer of an agent sees, in order.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{AgentError, CallOutcome, Json, ProviderItem, Repair, Text, UsageInfo};

/// One event of a streamed answer or of the agent's turn around it.
///
/// The first nine kinds come from the stream. Of thinking and message at most one section is open
/// at a time; a call's events carry its `index`; every start has exactly one end, whatever happens.
/// On the wire each event is an object whose `type` is the kind in snake case.
///
/// # Examples
///
/// ```
/// use forgeline::types::AgentEvent;
///
/// let event = AgentEvent::MessageContent { content: "Hi".into(), refusal: false };
/// let json = serde_json::to_string(&event)?;
/// assert_eq!(json, r#"{"type":"message_content","content":"Hi"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// A section of reasoning begins.
    ThinkingStart,
    /// More reasoning.
    ThinkingContent {
        /// The delta, never empty.
        content: Text,
    },
    /// The section of reasoning ended.
    ThinkingEnd,
    /// A section of the answer begins.
    MessageStart,
    /// More of the answer.
    MessageContent {
        /// The delta, never empty.
        content: Text,
        /// Whether the provider marked it as a refusal.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refusal: bool,
    },
    /// The section of the answer ended.
    MessageEnd,
    /// A tool call begins; sent once a call.
    ToolCallStart {
        /// Position among the calls of the response, from 0.
        index: u32,
        /// The model's or provider's id, else `call_{index}`.
        id: Text,
        /// The tool's name, when it was known in time.
        tool_name: Option<Text>,
    },
    /// More of a call.
    ToolCallContent {
        /// Which call.
        index: u32,
        /// The body as it stands between the call's markers.
        content: Text,
        /// The same as JSON text of the arguments.
        arguments: Text,
    },
    /// The call ended.
    ToolCallEnd {
        /// Which call.
        index: u32,
        /// The tool's name, when there was one.
        tool_name: Option<Text>,
        /// Whether the call may run.
        #[serde(flatten)]
        outcome: CallOutcome,
        /// What had to be mended.
        repairs: Vec<Repair>,
    },
    /// The stream or the run failed.
    Error {
        /// What happened.
        #[serde(flatten)]
        error: AgentError,
        /// Whether content had already been delivered.
        partial: bool,
    },
    /// A request goes to the provider.
    ApiCallStart {
        /// The provider's name.
        provider: Text,
        /// The model's id.
        model: Text,
    },
    /// The provider's answer ended.
    ApiCallEnd {
        /// Wall-clock time of the call, in milliseconds.
        duration_ms: u64,
        /// Time until the first content, in milliseconds; `None` when there was none.
        first_token_ms: Option<u64>,
    },
    /// Tokens of the call that just ended.
    TokenUsage {
        /// The counts.
        usage: UsageInfo,
    },
    /// A complete call is about to run.
    ToolCall {
        /// The call's id.
        id: Text,
        /// The tool's name.
        tool_name: Text,
        /// The arguments.
        arguments: Json,
    },
    /// A tool answered.
    ToolResult {
        /// The id of the call.
        id: Text,
        /// The tool's name.
        tool_name: Text,
        /// The answer, as the model gets it.
        content: String,
        /// How long the tool ran, in milliseconds.
        duration_ms: u64,
    },
    /// A call failed, or was not run; the model is told.
    ToolResultError {
        /// The id of the call.
        id: Text,
        /// The tool's name.
        tool_name: Text,
        /// What the model is told.
        content: String,
        /// How long the tool ran, in milliseconds.
        duration_ms: u64,
    },
    /// The answer held no call although the agent wants one; the model is told.
    NoToolCall,
    /// Whether the agent is working on an input.
    UpdateBusy {
        /// Whether it is.
        busy: bool,
    },
    /// One input was worked off.
    TurnEnd,
    /// The answer has something besides text, reasoning and calls: a source, a tool that the
    /// provider ran, reasoning that only it can read.
    ProviderItem(ProviderItem),
    /// A request to the provider failed and will be sent again; nothing of an answer had been
    /// delivered.
    Retry {
        /// Which attempt failed, from 1.
        attempt: u32,
        /// How many attempts there may be.
        max_attempts: u32,
        /// How long the wait before the next one is, in milliseconds.
        delay_ms: u64,
        /// Why it failed.
        #[serde(flatten)]
        error: AgentError,
    },
    /// A provider is out and the next of a chain takes over; nothing of an answer had been
    /// delivered.
    Failover {
        /// The provider that failed.
        from_provider: Text,
        /// The provider that is asked now; empty when an entry of the chain was skipped.
        to_provider: Text,
        /// Its model.
        to_model: Text,
        /// Which entry of the chain is asked now, from 0.
        position: u32,
        /// How many entries the chain has besides the first.
        length: u32,
        /// Why the one before it was left.
        reason: String,
    },
    /// An event of a tool's or a user's own.
    Custom {
        /// Its name.
        name: Text,
        /// Its payload.
        data: Value,
    },
    /// A kind that this version does not know, kept as it came.
    #[serde(untagged)]
    Unknown(UnknownEvent),
}

/// The kinds of [`AgentEvent`] on the wire, in the order of its variants.
const KINDS: [&str; 24] = [
    "thinking_start",
    "thinking_content",
    "thinking_end",
    "message_start",
    "message_content",
    "message_end",
    "tool_call_start",
    "tool_call_content",
    "tool_call_end",
    "error",
    "api_call_start",
    "api_call_end",
    "token_usage",
    "tool_call",
    "tool_result",
    "tool_result_error",
    "no_tool_call",
    "update_busy",
    "turn_end",
    "provider_item",
    "retry",
    "failover",
    "custom",
    "completion",
];

impl AgentEvent {
    /// The kind on the wire, such as `message_content`; empty for an unknown event without one.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::ThinkingStart => "thinking_start",
            Self::ThinkingContent { .. } => "thinking_content",
            Self::ThinkingEnd => "thinking_end",
            Self::MessageStart => "message_start",
            Self::MessageContent { .. } => "message_content",
            Self::MessageEnd => "message_end",
            Self::ToolCallStart { .. } => "tool_call_start",
            Self::ToolCallContent { .. } => "tool_call_content",
            Self::ToolCallEnd { .. } => "tool_call_end",
            Self::Error { .. } => "error",
            Self::ApiCallStart { .. } => "api_call_start",
            Self::ApiCallEnd { .. } => "api_call_end",
            Self::TokenUsage { .. } => "token_usage",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolResult { .. } => "tool_result",
            Self::ToolResultError { .. } => "tool_result_error",
            Self::NoToolCall => "no_tool_call",
            Self::UpdateBusy { .. } => "update_busy",
            Self::TurnEnd => "turn_end",
            Self::ProviderItem(_) => "provider_item",
            Self::Retry { .. } => "retry",
            Self::Failover { .. } => "failover",
            Self::Custom { .. } => "custom",
            Self::Unknown(event) => event.kind(),
        }
    }

    /// What it adds to the answer; empty unless it is message content.
    #[must_use]
    pub fn text(&self) -> &str {
        if let Self::MessageContent { content, .. } = self { content } else { "" }
    }
}

/// An event of a kind that this version does not know.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct UnknownEvent(Map<String, Value>);

impl UnknownEvent {
    /// The kind on the wire; empty when there is none.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.0.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    /// All fields, `type` included.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl<'de> Deserialize<'de> for UnknownEvent {
    /// Refuses the known kinds: one that lands here has fields that are wrong or missing.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let event = Self(Map::deserialize(deserializer)?);
        if KINDS.contains(&event.kind()) {
            let message = format!("the fields of a `{}` event are wrong", event.kind());
            return Err(serde::de::Error::custom(message));
        }
        Ok(event)
    }
}
