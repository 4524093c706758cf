//! The events that have a place in an answer of any protocol.

use std::borrow::Cow;

use forgeline_types::{
    AgentError, AgentEvent, CallOutcome, Completion, ErrorEvent, FinishReason, MessageContentEvent,
    Part, ProviderItem, Text, ThinkingContentEvent, TokenUsageEvent, ToolCallContentEvent,
    ToolCallEndEvent, ToolCallStartEvent, UsageInfo,
};

/// A piece of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AnswerPiece<'a> {
    Thinking(&'a str),
    ThinkingEnd,
    Text { text: &'a str, is_refusal: bool },
    TextEnd,
    CallStart { index: u32, id: &'a Text, name: Option<&'a Text> },
    Arguments { index: u32, json: &'a str },
    CallEnd { index: u32, name: Option<&'a Text>, is_cut: bool },
    Item(&'a ProviderItem),
    Usage(&'a UsageInfo),
    Failed(&'a AgentError),
}

impl<'a> AnswerPiece<'a> {
    /// Returns the piece of an event; `None` for any event outside of answers, such as the result of a tool.
    pub(crate) fn of(event: &'a AgentEvent) -> Option<Self> {
        Some(match event {
            AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) => {
                Self::Thinking(content)
            }
            AgentEvent::ThinkingEnd => Self::ThinkingEnd,
            AgentEvent::MessageContent(MessageContentEvent { content, refusal, .. }) => {
                Self::Text { text: content, is_refusal: *refusal }
            }
            AgentEvent::MessageEnd => Self::TextEnd,
            AgentEvent::ToolCallStart(ToolCallStartEvent {
                index, call_id: id, tool_name, ..
            }) => Self::CallStart { index: *index, id, name: tool_name.as_ref() },
            AgentEvent::ToolCallContent(ToolCallContentEvent { index, arguments, .. }) => {
                Self::Arguments { index: *index, json: arguments }
            }
            AgentEvent::ToolCallEnd(ToolCallEndEvent { index, tool_name, outcome, .. }) => {
                let is_cut = *outcome == CallOutcome::Incomplete;
                Self::CallEnd { index: *index, name: tool_name.as_ref(), is_cut }
            }
            AgentEvent::ProviderItem(item) => Self::Item(item),
            AgentEvent::TokenUsage(TokenUsageEvent { usage, .. }) => Self::Usage(usage),
            AgentEvent::Error(ErrorEvent { error, .. }) => Self::Failed(error),
            AgentEvent::ThinkingStart
            | AgentEvent::MessageStart
            | AgentEvent::ApiCallStart(_)
            | AgentEvent::ApiCallEnd(_)
            | AgentEvent::ToolCall(_)
            | AgentEvent::ToolOutput(_)
            | AgentEvent::ToolResult(_)
            | AgentEvent::ToolResultError(_)
            | AgentEvent::ToolApprovalRequest(_)
            | AgentEvent::ToolApprovalGranted(_)
            | AgentEvent::ToolApprovalRejected(_)
            | AgentEvent::ToolApprovalTimeout(_)
            | AgentEvent::ToolApprovalCancelled(_)
            | AgentEvent::ClientToolRequest(_)
            | AgentEvent::ToolQuestion(_)
            | AgentEvent::ToolQuestionEnd(_)
            | AgentEvent::ClientToolCancelled(_)
            | AgentEvent::NoToolCall
            | AgentEvent::UpdateBusy(_)
            | AgentEvent::TurnEnd
            | AgentEvent::Retry(_)
            | AgentEvent::Failover(_)
            | AgentEvent::Custom(_)
            | AgentEvent::Unknown(_) => return None,
            _ => return None,
        })
    }
}

/// Returns the parts of a whole answer; one without parts, such as of a program, is made of its texts and calls.
pub(crate) fn parts_of(completion: &Completion) -> Cow<'_, [Part]> {
    if completion.parts.is_empty() {
        Cow::Owned(completion.clone().into_message().parts)
    } else {
        Cow::Borrowed(&completion.parts)
    }
}

/// Returns the reason for the end of a whole answer.
pub(crate) fn end_of(completion: &Completion) -> &FinishReason {
    completion.finish_reason.as_ref().unwrap_or(&FinishReason::Stop)
}
