//! The payloads of the events of tools that run.

use serde::{Deserialize, Serialize};

use crate::{Json, Repair, Text, setters};

/// The payload of [`AgentEvent::ToolCall`](crate::AgentEvent::ToolCall): a complete call is about to run.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, Json, ToolCallEvent};
///
/// let call = ToolCallEvent::new("call_0", "read_file", Json::parse(r#"{"path":"a.rs"}"#)?);
/// let json = serde_json::to_string(&AgentEvent::ToolCall(call))?;
/// assert!(json.starts_with(r#"{"type":"tool_call","id":"call_0","tool_name":"read_file","#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCallEvent {
    /// The call's id.
    #[serde(rename = "id")]
    pub call_id: Text,
    /// The tool's name.
    pub tool_name: Text,
    /// The arguments, as they run.
    pub arguments: Json,
    /// The repairs that were made after the [end of the call](crate::AgentEvent::ToolCallEnd): [`Repair::Coerced`] where the
    /// arguments were fitted to the schema of the tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Repair>,
}

impl ToolCallEvent {
    /// Returns a call whose arguments were not changed.
    #[must_use]
    pub fn new(call_id: impl Into<Text>, tool_name: impl Into<Text>, arguments: Json) -> Self {
        let (call_id, tool_name) = (call_id.into(), tool_name.into());
        Self { call_id, tool_name, arguments, repairs: Vec::new() }
    }

    setters! { ToolCallEvent: repairs(Vec<Repair>) }
}

/// The payload of [`AgentEvent::ToolOutput`](crate::AgentEvent::ToolOutput): output before the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolOutputEvent {
    /// The id of the call.
    #[serde(rename = "id")]
    pub call_id: Text,
    /// The tool's name.
    pub tool_name: Text,
    /// More of the output, never empty.
    pub content: String,
}

impl ToolOutputEvent {
    /// Returns the payload with this piece of output.
    #[must_use]
    pub fn new(
        call_id: impl Into<Text>,
        tool_name: impl Into<Text>,
        content: impl Into<String>,
    ) -> Self {
        let (call_id, tool_name) = (call_id.into(), tool_name.into());
        Self { call_id, tool_name, content: content.into() }
    }
}

/// The payload of [`AgentEvent::ToolResult`](crate::AgentEvent::ToolResult) and
/// [`AgentEvent::ToolResultError`](crate::AgentEvent::ToolResultError): a call ended.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, ToolResultEvent};
///
/// let result = ToolResultEvent::new("call_0", "read_file", "no such file").duration_ms(2);
/// let event = AgentEvent::ToolResultError(result);
/// let AgentEvent::ToolResultError(failed) = event else { panic!("{event:?}") };
/// assert_eq!((failed.call_id.as_str(), failed.duration_ms), ("call_0", 2));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResultEvent {
    /// The id of the call.
    #[serde(rename = "id")]
    pub call_id: Text,
    /// The tool's name.
    pub tool_name: Text,
    /// The result or the error, as the model receives it.
    pub content: String,
    /// Wall-clock time of the tool, in milliseconds.
    pub duration_ms: u64,
}

impl ToolResultEvent {
    /// Returns the result of a tool that took no time.
    #[must_use]
    pub fn new(
        call_id: impl Into<Text>,
        tool_name: impl Into<Text>,
        content: impl Into<String>,
    ) -> Self {
        let (call_id, tool_name) = (call_id.into(), tool_name.into());
        Self { call_id, tool_name, content: content.into(), duration_ms: 0 }
    }

    setters! { ToolResultEvent: duration_ms(u64) }
}
