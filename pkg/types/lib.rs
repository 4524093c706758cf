//! Plain data shared by all layers: messages, events, usage, errors, JSON values.

mod answer_events;
mod approval;
mod call;
mod client_tool;
mod clipped;
mod completion;
mod completion_builder;
mod custom_events;
mod debug_fields;
mod ending;
mod envelope;
mod error;
mod event;
mod finish;
mod media_rules;
mod message;
mod model;
mod own_file;
mod part_kinds;
mod partial_calls;
mod person_events;
mod provider_events;
mod provider_item;
mod question;
mod sealed_calls;
mod setters;
mod signature;
mod spelling;
#[cfg(test)]
mod tests;
mod text;
mod text_origin;
mod tool_events;
mod transcript;
mod usage;

pub use answer_events::{
    MessageContentEvent, ThinkingContentEvent, ToolCallContentEvent, ToolCallEndEvent,
    ToolCallStartEvent,
};
pub use approval::{ApprovalReason, ApprovalRequest, Preview, PreviewKind};
pub use call::{CallOutcome, ToolCall};
pub use client_tool::{ClientFailure, ClientReturn, ClientToolRequest};
pub use completion::Completion;
pub use completion_builder::CompletionBuilder;
pub use completion_builder::{KeptContent, is_absent};
pub use custom_events::{CustomEvent, UpdateBusyEvent};
pub use ending::Ending;
pub use envelope::Envelope;
pub use error::{AgentError, ErrorCode};
pub use event::{AgentEvent, UnknownEvent};
pub use finish::FinishReason;
pub use media_rules::{MediaRules, PictureKinds};
pub use message::{Message, MessageRole, Part, ToolResult};
pub use model::{Capabilities, ModelInfo};
pub use partial_calls::{PartialCall, PartialCalls};
pub use person_events::{
    ClientToolCancelledEvent, ToolApprovalEvent, ToolApprovalRejectedEvent, ToolQuestionEndEvent,
};
pub use provider_events::{
    ApiCallEndEvent, ApiCallStartEvent, ErrorEvent, FailoverEvent, RetryEvent, TokenUsageEvent,
};
pub use provider_item::{Citation, ItemKind, ProviderItem};
pub use question::{QuestionEnd, ToolAnswer, ToolQuestion};
pub use signature::{Origin, Signature};
pub use text::Text;
pub use text_origin::TextOrigin;
pub use tool_events::{ToolCallEvent, ToolOutputEvent, ToolResultEvent};
pub use transcript::Transcript;
pub use usage::UsageInfo;

pub use forgeline_json::{
    DEFAULT_MAX_JSON_BYTES, Json, PartialJson, PartialJsonError, PartialValue, Repair,
};

/// Items for the crates above, and not for programs: they may change in any version.
#[doc(hidden)]
pub mod private {
    pub use crate::{
        clipped::clipped,
        completion_builder::{KeptContent, is_absent},
        own_file::own_file,
        part_kinds::PartKinds,
        sealed_calls::PartPlace,
    };
}
