//! Plain data that every layer shares: messages, events, usage, errors. Imports nothing of ours.

mod call;
mod completion;
mod completion_builder;
mod envelope;
mod error;
mod event;
mod finish;
mod input;
mod json;
mod message;
mod model;
mod partial;
mod provider_item;
mod setters;
mod signature;
mod slice;
#[cfg(test)]
mod tests;
mod text;
mod transcript;
mod usage;

pub use call::{CallOutcome, Repair, ToolCall};
pub use completion::Completion;
pub use completion_builder::CompletionBuilder;
pub(crate) use completion_builder::{Keep, is_absent};
pub use envelope::Envelope;
pub use error::{AgentError, ErrorCode};
pub use event::{AgentEvent, UnknownEvent};
pub use finish::FinishReason;
pub use input::Input;
pub use json::Json;
pub use message::{Message, MessageRole, Part, ToolResult};
pub use model::{Capabilities, ModelInfo};
pub use partial::{
    DEFAULT_MAX_JSON_BYTES, PartialAnswer, PartialCall, PartialCalls, PartialJson,
    PartialJsonError, PartialValue,
};
pub use provider_item::{Citation, ItemKind, ProviderItem};
pub(crate) use setters::setters;
pub use signature::Signature;
pub(crate) use slice::slice;
pub use text::Text;
pub use transcript::Transcript;
pub use usage::UsageInfo;
