//! The events of AG-UI, in their wire format.

use serde::Serialize;
use serde_json::Value;

use super::key::{CallKey, ResultKey, SectionKey};
use forgeline_types::{AgentEvent, ErrorCode, Json, UnknownEvent};

/// An event with its time, and the sub-agent it belongs to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgUiMessage<'e> {
    #[serde(flatten)]
    pub(super) event: AgUiEvent<'e>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subagent_run_id: Option<&'e str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub(super) enum AgUiEvent<'e> {
    RunStarted {
        thread_id: &'e str,
        run_id: &'e str,
        protocol_version: &'static str,
    },
    RunFinished {
        thread_id: &'e str,
        run_id: &'e str,
        outcome: AgUiOutcome<'e>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<[AgUiUsage; 1]>,
    },
    RunError {
        message: &'e str,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<ErrorCode>,
    },
    StepStarted {
        step_name: StepName,
    },
    StepFinished {
        step_name: StepName,
    },
    ReasoningStart {
        message_id: SectionKey<'e>,
    },
    ReasoningMessageStart {
        message_id: SectionKey<'e>,
        role: &'static str,
    },
    ReasoningMessageContent {
        message_id: SectionKey<'e>,
        delta: &'e str,
    },
    ReasoningMessageEnd {
        message_id: SectionKey<'e>,
    },
    ReasoningEnd {
        message_id: SectionKey<'e>,
    },
    TextMessageStart {
        message_id: SectionKey<'e>,
        role: &'static str,
    },
    TextMessageContent {
        message_id: SectionKey<'e>,
        delta: &'e str,
    },
    TextMessageEnd {
        message_id: SectionKey<'e>,
    },
    ToolCallStart {
        tool_call_id: CallKey<'e>,
        tool_call_name: &'e str,
    },
    ToolCallArgs {
        tool_call_id: CallKey<'e>,
        delta: &'e str,
    },
    ToolCallEnd {
        tool_call_id: CallKey<'e>,
    },
    ToolCallResult {
        message_id: ResultKey<'e>,
        tool_call_id: CallKey<'e>,
        content: &'e str,
        role: &'static str,
    },
    SubagentStarted {
        name: &'e str,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_subagent_run_id: Option<&'e str>,
        parent_tool_call_id: CallKey<'e>,
    },
    SubagentFinished {},
    SubagentError {
        message: &'e str,
    },
    Custom {
        name: &'e str,
        value: CustomValue<'e>,
    },
    Raw {
        event: &'e UnknownEvent,
        source: &'static str,
    },
}

/// The value of a custom event.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum CustomValue<'e> {
    Event(&'e AgentEvent),
    Value(&'e Value),
}

/// The name of a step.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(into = "String")]
pub(super) struct StepName(pub(super) u32);

impl From<StepName> for String {
    fn from(StepName(turn): StepName) -> Self {
        format!("turn {turn}")
    }
}

/// The end of a run that did not fail.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AgUiOutcome<'e> {
    Success,
    Cancelled,
    Interrupt { interrupts: &'e [AgUiInterrupt] },
}

/// A request that the run waits for.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgUiInterrupt {
    /// The id of the request.
    pub(super) id: String,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) tool_call_id: String,
    /// The schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_schema: Option<Json>,
}

/// The token usage of a run.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names of the protocol")]
pub(super) struct AgUiUsage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cached_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_write_input_tokens: Option<u64>,
}
