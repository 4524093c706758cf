//! The payloads of the events about a person's decisions and answers, and about calls at the client.

use serde::{Deserialize, Serialize};

use crate::{QuestionEnd, Text, setters};

/// The payload of [`AgentEvent::ToolApprovalGranted`](crate::AgentEvent::ToolApprovalGranted),
/// [`ToolApprovalTimeout`](crate::AgentEvent::ToolApprovalTimeout) and
/// [`ToolApprovalCancelled`](crate::AgentEvent::ToolApprovalCancelled): a call no longer waits for approval.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, ToolApprovalEvent};
///
/// let event = AgentEvent::ToolApprovalGranted(ToolApprovalEvent::new("5f1c", "call_0", "files.remove"));
/// assert_eq!(event.kind(), "tool_approval_granted");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolApprovalEvent {
    /// The id of the request.
    pub approval_id: Text,
    /// The id of the call.
    #[serde(rename = "id")]
    pub call_id: Text,
    /// The tool's name.
    pub tool_name: Text,
}

impl ToolApprovalEvent {
    /// Returns the payload for this request and its call.
    #[must_use]
    pub fn new(
        approval_id: impl Into<Text>,
        call_id: impl Into<Text>,
        tool_name: impl Into<Text>,
    ) -> Self {
        let (approval_id, call_id) = (approval_id.into(), call_id.into());
        Self { approval_id, call_id, tool_name: tool_name.into() }
    }
}

/// The payload of [`AgentEvent::ToolApprovalRejected`](crate::AgentEvent::ToolApprovalRejected): the call was rejected.
///
/// # Examples
///
/// ```
/// use forgeline::types::ToolApprovalRejectedEvent;
///
/// let rejected = ToolApprovalRejectedEvent::new("5f1c", "call_0", "files.remove").reason("keep it");
/// assert_eq!(rejected.reason, "keep it");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolApprovalRejectedEvent {
    /// The id of the request.
    pub approval_id: Text,
    /// The id of the call.
    #[serde(rename = "id")]
    pub call_id: Text,
    /// The tool's name.
    pub tool_name: Text,
    /// The reason, which the model reads; it may be empty.
    pub reason: String,
}

impl ToolApprovalRejectedEvent {
    /// Returns a rejection without a reason.
    #[must_use]
    pub fn new(
        approval_id: impl Into<Text>,
        call_id: impl Into<Text>,
        tool_name: impl Into<Text>,
    ) -> Self {
        let (approval_id, call_id) = (approval_id.into(), call_id.into());
        Self { approval_id, call_id, tool_name: tool_name.into(), reason: String::new() }
    }

    setters! { ToolApprovalRejectedEvent: reason(into String) }
}

/// The payload of [`AgentEvent::ClientToolCancelled`](crate::AgentEvent::ClientToolCancelled): the client need no longer
/// run the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientToolCancelledEvent {
    /// The id of the request.
    pub client_call_id: Text,
    /// The id of the call.
    #[serde(rename = "id")]
    pub call_id: Text,
    /// The tool's name.
    pub tool_name: Text,
}

impl ClientToolCancelledEvent {
    /// Returns the payload for this request and its call.
    #[must_use]
    pub fn new(
        client_call_id: impl Into<Text>,
        call_id: impl Into<Text>,
        tool_name: impl Into<Text>,
    ) -> Self {
        let (client_call_id, call_id) = (client_call_id.into(), call_id.into());
        Self { client_call_id, call_id, tool_name: tool_name.into() }
    }
}

/// The payload of [`AgentEvent::ToolQuestionEnd`](crate::AgentEvent::ToolQuestionEnd): a question no longer needs an
/// answer.
///
/// # Examples
///
/// ```
/// use forgeline::types::{QuestionEnd, ToolQuestionEndEvent};
///
/// let end = ToolQuestionEndEvent::new("9c1e", "call_0", "mail.send", QuestionEnd::Declined);
/// assert_eq!(end.end, QuestionEnd::Declined);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolQuestionEndEvent {
    /// The id of the question.
    pub question_id: Text,
    /// The id of the call.
    #[serde(rename = "id")]
    pub call_id: Text,
    /// The tool's name.
    pub tool_name: Text,
    /// The way in which the question ended.
    pub end: QuestionEnd,
}

impl ToolQuestionEndEvent {
    /// Returns the payload for this question and its call.
    #[must_use]
    pub fn new(
        question_id: impl Into<Text>,
        call_id: impl Into<Text>,
        tool_name: impl Into<Text>,
        end: QuestionEnd,
    ) -> Self {
        let (question_id, call_id) = (question_id.into(), call_id.into());
        Self { question_id, call_id, tool_name: tool_name.into(), end }
    }
}
