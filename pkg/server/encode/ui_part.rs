//! The parts of a UI message stream, in their wire format.

use serde::{Serialize, Serializer};

use super::key::{CallKey, SectionKey};
use forgeline_types::{Json, UsageInfo};

/// A part of a UI message stream.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum UiPart<'e> {
    Start {
        message_id: &'e str,
    },
    StartStep,
    FinishStep,
    /// Discards the parts of the step so far.
    ResetStep,
    ReasoningStart {
        id: SectionKey<'e>,
    },
    ReasoningDelta {
        id: SectionKey<'e>,
        delta: &'e str,
    },
    ReasoningEnd {
        id: SectionKey<'e>,
    },
    TextStart {
        id: SectionKey<'e>,
    },
    TextDelta {
        id: SectionKey<'e>,
        delta: &'e str,
    },
    TextEnd {
        id: SectionKey<'e>,
    },
    ToolInputStart {
        tool_call_id: CallKey<'e>,
        tool_name: &'e str,
    },
    ToolInputDelta {
        tool_call_id: CallKey<'e>,
        input_text_delta: &'e str,
    },
    ToolInputAvailable {
        tool_call_id: CallKey<'e>,
        tool_name: &'e str,
        input: &'e Json,
    },
    ToolInputError {
        tool_call_id: CallKey<'e>,
        tool_name: &'e str,
        input: (),
        error_text: &'e str,
    },
    ToolOutputAvailable {
        tool_call_id: CallKey<'e>,
        output: &'e str,
    },
    ToolOutputError {
        tool_call_id: CallKey<'e>,
        error_text: &'e str,
    },
    ToolOutputDenied {
        tool_call_id: CallKey<'e>,
    },
    ToolApprovalRequest {
        approval_id: &'e str,
        tool_call_id: CallKey<'e>,
    },
    SourceUrl {
        source_id: SectionKey<'e>,
        url: &'e str,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'e str>,
    },
    Error {
        error_text: &'e str,
    },
    Abort,
    Finish {
        finish_reason: &'static str,
        message_metadata: MessageMetadata<'e>,
    },
}

/// Metadata of a whole message.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageMetadata<'e> {
    pub(super) run_id: &'e str,
    /// The number of the event with which a paused message continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<&'e UsageInfo>,
}

/// A part of a kind that the protocol leaves to the server. It is shown, but not kept in the message.
#[derive(Serialize)]
pub(super) struct DataPart<'e, T> {
    #[serde(rename = "type", serialize_with = "data_kind")]
    pub(super) kind: &'e str,
    #[serde(rename = "data")]
    pub(super) value: &'e T,
    pub(super) transient: bool,
}

fn data_kind<S: Serializer>(kind: &&str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("data-{kind}"))
}
