//! Plain data shared by all layers: messages, events, usage, errors, JSON values.

mod approval;
mod call;
mod client_tool;
#[cfg(feature = "runtime")]
mod clipped;
mod completion;
mod completion_builder;
mod debug_fields;
mod envelope;
mod error;
mod event;
mod finish;
mod media_rules;
mod message;
mod model;
mod partial_calls;
mod provider_item;
mod question;
#[cfg(feature = "runtime")]
mod sealed_calls;
mod setters;
mod signature;
mod spelling;
#[cfg(test)]
mod tests;
mod text;
mod text_origin;
mod transcript;
mod usage;

pub use approval::{ApprovalReason, ApprovalRequest, Preview, PreviewKind};
pub use call::{CallOutcome, ToolCall};
pub use client_tool::{ClientFailure, ClientReturn, ClientToolRequest};
#[cfg(feature = "runtime")]
pub(crate) use clipped::clipped;
pub use completion::Completion;
pub use completion_builder::CompletionBuilder;
pub(crate) use completion_builder::{Keep, is_absent};
pub(crate) use debug_fields::debug_fields;
pub use envelope::Envelope;
pub use error::{AgentError, ErrorCode};
pub use event::{AgentEvent, UnknownEvent};
pub use finish::FinishReason;
pub use media_rules::MediaRules;
pub use message::{Message, MessageRole, Part, ToolResult};
pub use model::{Capabilities, ModelInfo};
pub use partial_calls::{PartialCall, PartialCalls};
pub use provider_item::{Citation, ItemKind, ProviderItem};
pub use question::{QuestionEnd, ToolAnswer, ToolQuestion};
#[cfg(feature = "runtime")]
pub(crate) use sealed_calls::PartPlace;
pub(crate) use setters::setters;
pub use signature::{Origin, Signature};
pub use text::Text;
pub use text_origin::TextOrigin;
pub use transcript::Transcript;
pub use usage::UsageInfo;

pub use crate::json::{
    DEFAULT_MAX_JSON_BYTES, Json, PartialJson, PartialJsonError, PartialValue, Repair,
};
pub(crate) use crate::json::{slice, subslice};
