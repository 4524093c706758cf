//! The events that a consumer of an agent sees, in order.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{
    AgentError, ApprovalRequest, CallOutcome, ClientToolRequest, Json, ProviderItem, QuestionEnd,
    Repair, Text, ToolQuestion, UsageInfo, spelling::keep_spelling,
};

/// One event of a streamed answer or of the agent's turn around it.
///
/// The first nine kinds come from the stream. At most one section, thinking or message, is open
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
#[serde(remote = "Self", tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
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
        /// `true` if the provider marked the text as a refusal.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refusal: bool,
    },
    /// The section of the answer ended.
    MessageEnd,
    /// A tool call begins; sent once per call.
    ToolCallStart {
        /// The position among the calls of the response, from 0.
        index: u32,
        /// The id given by the model or the provider, else `call_{index}`. An id that a model writes as text after the
        /// name appears in the completion only; `index` is the same in both.
        id: Text,
        /// The tool's name, if it was known in time.
        tool_name: Option<Text>,
    },
    /// More of a call.
    ToolCallContent {
        /// The call's position, from 0.
        index: u32,
        /// The text between the call's markers, as written.
        content: Text,
        /// The same text as JSON of the arguments.
        arguments: Text,
    },
    /// The call ended.
    ToolCallEnd {
        /// The call's position, from 0.
        index: u32,
        /// The tool's name, if there was one.
        tool_name: Option<Text>,
        /// The outcome of reading the call: only a complete call may run.
        #[serde(flatten)]
        outcome: CallOutcome,
        /// The repairs made to the call's text.
        repairs: Vec<Repair>,
    },
    /// The stream or the run failed.
    Error {
        /// The failure.
        #[serde(flatten)]
        error: AgentError,
        /// `true` if content had already been delivered.
        partial: bool,
    },
    /// A request is sent to the provider.
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
        /// Time until the first content, in milliseconds; `None` if there was none.
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
        /// The arguments, as they run.
        arguments: Json,
        /// The repairs that were made after [`ToolCallEnd`](Self::ToolCallEnd): [`Repair::Coerced`] where the arguments
        /// were fitted to the schema of the tool.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<Repair>,
    },
    /// A running tool has output before its result. The model does not read it.
    ToolOutput {
        /// The id of the call.
        id: Text,
        /// The tool's name.
        tool_name: Text,
        /// More of the output, never empty.
        content: String,
    },
    /// A tool returned.
    ToolResult {
        /// The id of the call.
        id: Text,
        /// The tool's name.
        tool_name: Text,
        /// The result, as the model receives it.
        content: String,
        /// Wall-clock time of the tool, in milliseconds.
        duration_ms: u64,
    },
    /// A call failed or was not run; the model receives an error as its result.
    ToolResultError {
        /// The id of the call.
        id: Text,
        /// The tool's name.
        tool_name: Text,
        /// The error text that the model receives.
        content: String,
        /// Wall-clock time of the tool, in milliseconds.
        duration_ms: u64,
    },
    /// A call waits for a person's approval.
    ToolApprovalRequest(Box<ApprovalRequest>),
    /// A person approved the call; it is about to run.
    ToolApprovalGranted {
        /// The id of the request.
        approval_id: Text,
        /// The id of the call.
        id: Text,
        /// The tool's name.
        tool_name: Text,
    },
    /// The call was rejected, or no one could be asked.
    ToolApprovalRejected {
        /// The id of the request.
        approval_id: Text,
        /// The id of the call.
        id: Text,
        /// The tool's name.
        tool_name: Text,
        /// The reason, which the model reads; it may be empty.
        reason: String,
    },
    /// No decision came in time.
    ToolApprovalTimeout {
        /// The id of the request.
        approval_id: Text,
        /// The id of the call.
        id: Text,
        /// The tool's name.
        tool_name: Text,
    },
    /// The request was withdrawn because its run ended or its answer was truncated.
    ToolApprovalCancelled {
        /// The id of the request.
        approval_id: Text,
        /// The id of the call.
        id: Text,
        /// The tool's name.
        tool_name: Text,
    },
    /// The client is to run a call and return its result. Replaces [`ToolCall`](Self::ToolCall).
    ClientToolRequest(Box<ClientToolRequest>),
    /// The client need no longer run the call: its run ended, or its time is up.
    ClientToolCancelled {
        /// The id of the request.
        client_call_id: Text,
        /// The id of the call.
        id: Text,
        /// The tool's name.
        tool_name: Text,
    },
    /// A running tool asks the user. The question ends with its call at the latest.
    ToolQuestion(Box<ToolQuestion>),
    /// A question no longer needs an answer.
    ToolQuestionEnd {
        /// The id of the question.
        question_id: Text,
        /// The id of the call.
        id: Text,
        /// The tool's name.
        tool_name: Text,
        /// The way in which the question ended.
        end: QuestionEnd,
    },
    /// The answer has no call although the agent requires one; the model is asked again.
    NoToolCall,
    /// The agent starts or stops working on an input.
    UpdateBusy {
        /// `true` while it is working.
        busy: bool,
    },
    /// An input was processed.
    TurnEnd,
    /// A part of the answer other than text, reasoning and calls: a source, a tool that the provider
    /// ran, or reasoning that only the provider can read.
    ProviderItem(ProviderItem),
    /// A request to the provider failed and will be sent again; no part of an answer had been
    /// delivered.
    Retry {
        /// Number of the failed attempt, from 1.
        attempt: u32,
        /// The maximum number of attempts.
        max_attempts: u32,
        /// The delay before the next attempt, in milliseconds.
        delay_ms: u64,
        /// The failure.
        #[serde(flatten)]
        error: AgentError,
    },
    /// A provider failed and the next one of a chain takes over, or the first one is tried again; no part of an answer had been
    /// delivered.
    Failover {
        /// The provider that failed; with `position` 0, the one that had taken over.
        from_provider: Text,
        /// The provider that takes over; empty if an entry of the chain was skipped.
        to_provider: Text,
        /// The model of the provider that takes over.
        to_model: Text,
        /// The position in the chain of the provider that takes over, from 0.
        position: u32,
        /// The number of entries after the first.
        length: u32,
        /// The reason for leaving the previous provider.
        reason: String,
    },
    /// An event that a tool or a program defines.
    Custom {
        /// The name of the event.
        name: Text,
        /// The payload.
        #[serde(deserialize_with = "read_value")]
        data: Value,
    },
    /// A kind that this version does not know, kept as received.
    #[serde(untagged)]
    Unknown(UnknownEvent),
}

/// Declares the kinds once: their list and [`AgentEvent::kind`].
macro_rules! kinds {
    ($($variant:ident = $kind:literal,)+) => {
        /// The kinds on the wire: those of the events, and that of a run's last line.
        const KINDS: &[&str] = &[$($kind,)+ "completion"];

        impl AgentEvent {
            /// Returns the kind on the wire, such as `message_content`; empty for an unknown event
            /// without one.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant { .. } => $kind,)+
                    Self::Unknown(event) => event.kind(),
                }
            }
        }
    };
}

kinds! {
    ThinkingStart = "thinking_start",
    ThinkingContent = "thinking_content",
    ThinkingEnd = "thinking_end",
    MessageStart = "message_start",
    MessageContent = "message_content",
    MessageEnd = "message_end",
    ToolCallStart = "tool_call_start",
    ToolCallContent = "tool_call_content",
    ToolCallEnd = "tool_call_end",
    Error = "error",
    ApiCallStart = "api_call_start",
    ApiCallEnd = "api_call_end",
    TokenUsage = "token_usage",
    ToolCall = "tool_call",
    ToolOutput = "tool_output",
    ToolResult = "tool_result",
    ToolResultError = "tool_result_error",
    ToolApprovalRequest = "tool_approval_request",
    ToolApprovalGranted = "tool_approval_granted",
    ToolApprovalRejected = "tool_approval_rejected",
    ToolApprovalTimeout = "tool_approval_timeout",
    ToolApprovalCancelled = "tool_approval_cancelled",
    ClientToolRequest = "client_tool_request",
    ClientToolCancelled = "client_tool_cancelled",
    ToolQuestion = "tool_question",
    ToolQuestionEnd = "tool_question_end",
    NoToolCall = "no_tool_call",
    UpdateBusy = "update_busy",
    TurnEnd = "turn_end",
    ProviderItem = "provider_item",
    Retry = "retry",
    Failover = "failover",
    Custom = "custom",
}

impl AgentEvent {
    /// Returns the text that the event adds to the answer; empty unless it is message content.
    #[must_use]
    pub fn text(&self) -> &str {
        if let Self::MessageContent { content, .. } = self { content } else { "" }
    }
}

keep_spelling!(AgentEvent);

/// Reads any JSON value inside an event, marking unusual numbers to keep their spelling.
fn read_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Json::deserialize(deserializer).map(|json| json.to_value())
}

/// An event of a kind that this version does not know.
///
/// # Examples
///
/// ```
/// use forgeline::types::AgentEvent;
///
/// let event: AgentEvent = serde_json::from_str(r#"{"type":"of_a_later_version","n":1}"#)?;
/// let AgentEvent::Unknown(unknown) = &event else { panic!("{event:?}") };
/// assert_eq!((unknown.kind(), &unknown.fields()["n"]), ("of_a_later_version", &1.into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct UnknownEvent(Map<String, Value>);

impl UnknownEvent {
    /// Returns the kind on the wire; empty when there is none.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.0.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns all fields, `type` included.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl<'de> Deserialize<'de> for UnknownEvent {
    /// Rejects known kinds: one that gets here has invalid or missing fields.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        let event = Self(json.read().map_err(serde::de::Error::custom)?);
        if KINDS.contains(&event.kind()) {
            let message = format!("the fields of a `{}` event are wrong", event.kind());
            return Err(serde::de::Error::custom(message));
        }
        Ok(event)
    }
}
