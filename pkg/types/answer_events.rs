//! The payloads of the events of a streamed answer.

use serde::{Deserialize, Serialize};

use crate::{CallOutcome, Repair, Text, setters};

/// The payload of [`AgentEvent::ThinkingContent`](crate::AgentEvent::ThinkingContent): more reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ThinkingContentEvent {
    /// The delta, never empty.
    pub content: Text,
}

impl ThinkingContentEvent {
    /// Returns the payload with this delta.
    #[inline]
    #[must_use]
    pub fn new(content: impl Into<Text>) -> Self {
        Self { content: content.into() }
    }
}

/// The payload of [`AgentEvent::MessageContent`](crate::AgentEvent::MessageContent): more of the answer.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, MessageContentEvent};
///
/// let event = AgentEvent::MessageContent(MessageContentEvent::new("No.").refusal(true));
/// let json = serde_json::to_string(&event)?;
/// assert_eq!(json, r#"{"type":"message_content","content":"No.","refusal":true}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MessageContentEvent {
    /// The delta, never empty.
    pub content: Text,
    /// `true` if the provider marked the text as a refusal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refusal: bool,
}

impl MessageContentEvent {
    /// Returns the payload with this delta, which is not a refusal.
    #[inline]
    #[must_use]
    pub fn new(content: impl Into<Text>) -> Self {
        Self { content: content.into(), refusal: false }
    }

    setters! {
        MessageContentEvent:
        /// Sets [`refusal`](Self::refusal).
        #[inline]
        refusal(bool),
    }
}

/// The payload of [`AgentEvent::ToolCallStart`](crate::AgentEvent::ToolCallStart): a tool call begins.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, Text, ToolCallStartEvent};
///
/// let start = ToolCallStartEvent::new(0, "call_0").tool_name(Text::from("read_file"));
/// let json = serde_json::to_string(&AgentEvent::ToolCallStart(start))?;
/// assert_eq!(json, r#"{"type":"tool_call_start","index":0,"id":"call_0","tool_name":"read_file"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCallStartEvent {
    /// The position among the calls of the response, from 0.
    pub index: u32,
    /// The id given by the model or the provider, else `call_{index}`. An id that a model writes as text after the
    /// name appears in the completion only; `index` is the same in both.
    #[serde(rename = "id")]
    pub call_id: Text,
    /// The tool's name, if it was known in time.
    pub tool_name: Option<Text>,
}

impl ToolCallStartEvent {
    /// Returns the start of a call whose tool is not known yet.
    #[inline]
    #[must_use]
    pub fn new(index: u32, call_id: impl Into<Text>) -> Self {
        Self { index, call_id: call_id.into(), tool_name: None }
    }

    /// Sets [`tool_name`](Self::tool_name).
    #[inline]
    #[must_use]
    pub fn tool_name(mut self, tool_name: impl Into<Option<Text>>) -> Self {
        self.tool_name = tool_name.into();
        self
    }
}

/// The payload of [`AgentEvent::ToolCallContent`](crate::AgentEvent::ToolCallContent): more of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCallContentEvent {
    /// The call's position, from 0.
    pub index: u32,
    /// The text between the call's markers, as written.
    pub content: Text,
    /// The same text as JSON of the arguments.
    pub arguments: Text,
}

impl ToolCallContentEvent {
    /// Returns the payload with this text, as written and as JSON.
    #[inline]
    #[must_use]
    pub fn new(index: u32, content: impl Into<Text>, arguments: impl Into<Text>) -> Self {
        Self { index, content: content.into(), arguments: arguments.into() }
    }
}

/// The payload of [`AgentEvent::ToolCallEnd`](crate::AgentEvent::ToolCallEnd): the call ended.
///
/// # Examples
///
/// ```
/// use forgeline::types::{CallOutcome, Repair, ToolCallEndEvent};
///
/// let end = ToolCallEndEvent::new(0, CallOutcome::Complete).repairs(vec![Repair::Fence]);
/// assert_eq!((end.tool_name, end.repairs.len()), (None, 1));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCallEndEvent {
    /// The call's position, from 0.
    pub index: u32,
    /// The tool's name, if there was one.
    pub tool_name: Option<Text>,
    /// The outcome of reading the call: only a complete call may run.
    #[serde(flatten)]
    pub outcome: CallOutcome,
    /// The repairs made to the call's text.
    pub repairs: Vec<Repair>,
}

impl ToolCallEndEvent {
    /// Returns the end of a call without a name and without repairs.
    #[must_use]
    pub fn new(index: u32, outcome: CallOutcome) -> Self {
        Self { index, tool_name: None, outcome, repairs: Vec::new() }
    }

    /// Sets [`tool_name`](Self::tool_name).
    #[must_use]
    pub fn tool_name(mut self, tool_name: impl Into<Option<Text>>) -> Self {
        self.tool_name = tool_name.into();
        self
    }

    setters! { ToolCallEndEvent: repairs(Vec<Repair>) }
}
