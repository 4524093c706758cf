//! The events that a consumer of an agent sees, in order.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{
    ApprovalRequest, ClientToolRequest, Json, ProviderItem, ToolQuestion,
    answer_events::{
        MessageContentEvent, ThinkingContentEvent, ToolCallContentEvent, ToolCallEndEvent,
        ToolCallStartEvent,
    },
    custom_events::{CustomEvent, UpdateBusyEvent},
    person_events::{
        ClientToolCancelledEvent, ToolApprovalEvent, ToolApprovalRejectedEvent,
        ToolQuestionEndEvent,
    },
    provider_events::{
        ApiCallEndEvent, ApiCallStartEvent, ErrorEvent, FailoverEvent, RetryEvent, TokenUsageEvent,
    },
    spelling::keep_spelling,
    tool_events::{ToolCallEvent, ToolOutputEvent, ToolResultEvent},
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
/// use forgeline::types::{AgentEvent, MessageContentEvent};
///
/// let event = AgentEvent::MessageContent(MessageContentEvent::new("Hi"));
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
    ThinkingContent(ThinkingContentEvent),
    /// The section of reasoning ended.
    ThinkingEnd,
    /// A section of the answer begins.
    MessageStart,
    /// More of the answer.
    MessageContent(MessageContentEvent),
    /// The section of the answer ended.
    MessageEnd,
    /// A tool call begins; sent once per call.
    ToolCallStart(ToolCallStartEvent),
    /// More of a call.
    ToolCallContent(ToolCallContentEvent),
    /// The call ended.
    ToolCallEnd(ToolCallEndEvent),
    /// The stream or the run failed.
    Error(ErrorEvent),
    /// A request is sent to the provider.
    ApiCallStart(ApiCallStartEvent),
    /// The provider's answer ended.
    ApiCallEnd(ApiCallEndEvent),
    /// Tokens of the call that just ended.
    TokenUsage(TokenUsageEvent),
    /// A complete call is about to run.
    ToolCall(ToolCallEvent),
    /// A running tool has output before its result. The model does not read it.
    ToolOutput(ToolOutputEvent),
    /// A tool returned.
    ToolResult(ToolResultEvent),
    /// A call failed or was not run; the model receives an error as its result.
    ToolResultError(ToolResultEvent),
    /// A call waits for a person's approval.
    ToolApprovalRequest(Box<ApprovalRequest>),
    /// A person approved the call; it is about to run.
    ToolApprovalGranted(ToolApprovalEvent),
    /// The call was rejected, or no one could be asked.
    ToolApprovalRejected(ToolApprovalRejectedEvent),
    /// No decision came in time.
    ToolApprovalTimeout(ToolApprovalEvent),
    /// The request was withdrawn because its run ended or its answer was truncated.
    ToolApprovalCancelled(ToolApprovalEvent),
    /// The client is to run a call and return its result. Replaces [`ToolCall`](Self::ToolCall).
    ClientToolRequest(Box<ClientToolRequest>),
    /// The client need no longer run the call: its run ended, or its time is up.
    ClientToolCancelled(ClientToolCancelledEvent),
    /// A running tool asks the user. The question ends with its call at the latest.
    ToolQuestion(Box<ToolQuestion>),
    /// A question no longer needs an answer.
    ToolQuestionEnd(ToolQuestionEndEvent),
    /// The answer has no call although the agent requires one; the model is asked again.
    NoToolCall,
    /// The agent starts or stops working on an input.
    UpdateBusy(UpdateBusyEvent),
    /// An input was processed.
    TurnEnd,
    /// A part of the answer other than text, reasoning and calls: a source, a tool that the provider
    /// ran, or reasoning that only the provider can read.
    ProviderItem(ProviderItem),
    /// A request to the provider failed and will be sent again; no part of an answer had been
    /// delivered.
    Retry(RetryEvent),
    /// A provider failed and the next one of a chain takes over, or the first one is tried again; no part of an answer had been
    /// delivered.
    Failover(FailoverEvent),
    /// An event that a tool or a program defines.
    Custom(CustomEvent),
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
        if let Self::MessageContent(event) = self { &event.content } else { "" }
    }
}

keep_spelling!(AgentEvent);

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
