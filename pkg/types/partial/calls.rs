//! The arguments of the calls of a response, while they arrive.

use super::grow::PartialJson;
use crate::types::{AgentEvent, CallOutcome, Text};

/// One call as far as it has come.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PartialCall {
    /// Position among the calls of the response, from 0.
    pub index: u32,
    /// The call's id.
    pub id: Text,
    /// The tool's name; `None` as long as it is not known.
    pub tool_name: Option<Text>,
    /// The arguments so far. A fault in them is told by [`PartialJson::error`].
    pub arguments: PartialJson,
    /// What became of the call; `None` as long as it is open.
    pub outcome: Option<CallOutcome>,
}

/// Follows the events of a response and keeps the value so far of each call's arguments.
///
/// Calls stay, with their outcome, until the next response begins.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, PartialCalls};
///
/// let mut calls = PartialCalls::default();
/// # let started = AgentEvent::ToolCallStart { index: 0, id: "call_0".into(), tool_name: Some("write".into()) };
/// # let arguments = r#"{"content":"Once up"#;
/// # let grew = AgentEvent::ToolCallContent { index: 0, content: arguments.into(), arguments: arguments.into() };
/// for event in [started, grew] {
///     calls.event(&event);
///     if let AgentEvent::ToolCallContent { index, .. } = event {
///         let content = calls.get(index).and_then(|call| call.arguments.pointer("/content"));
///         assert_eq!(content.and_then(|content| content.as_str()), Some("Once up"));
///     }
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct PartialCalls {
    /// In the order of their starts.
    calls: Vec<PartialCall>,
}

impl PartialCalls {
    /// Takes the next event; what concerns no call changes nothing.
    pub fn event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::ApiCallStart { .. } => self.calls.clear(),
            AgentEvent::ToolCallStart { index, id, tool_name } => {
                if self.get(*index).is_some() {
                    self.calls.clear();
                }
                self.calls.push(PartialCall {
                    index: *index,
                    id: id.clone(),
                    tool_name: tool_name.clone(),
                    arguments: PartialJson::new(),
                    outcome: None,
                });
            }
            AgentEvent::ToolCallContent { index, arguments, .. } => {
                if let Some(call) = self.call(*index) {
                    // The call's own value tells of a fault.
                    call.arguments.push(arguments).ok();
                }
            }
            AgentEvent::ToolCallEnd { index, tool_name, outcome, .. } => {
                if let Some(call) = self.call(*index) {
                    call.tool_name.clone_from(tool_name);
                    call.outcome = Some(outcome.clone());
                }
            }
            AgentEvent::ThinkingStart
            | AgentEvent::ThinkingContent { .. }
            | AgentEvent::ThinkingEnd
            | AgentEvent::MessageStart
            | AgentEvent::MessageContent { .. }
            | AgentEvent::MessageEnd
            | AgentEvent::Error { .. }
            | AgentEvent::ApiCallEnd { .. }
            | AgentEvent::TokenUsage { .. }
            | AgentEvent::ToolCall { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::ToolResultError { .. }
            | AgentEvent::NoToolCall
            | AgentEvent::UpdateBusy { .. }
            | AgentEvent::TurnEnd
            | AgentEvent::ProviderItem(_)
            | AgentEvent::Retry { .. }
            | AgentEvent::Failover { .. }
            | AgentEvent::Custom { .. }
            | AgentEvent::Unknown(_) => {}
        }
    }

    /// The call of this index; `None` before its start.
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&PartialCall> {
        self.calls.iter().rev().find(|call| call.index == index)
    }

    /// All calls of the response so far, in the order of their starts.
    pub fn iter(&self) -> impl Iterator<Item = &PartialCall> {
        self.calls.iter()
    }

    fn call(&mut self, index: u32) -> Option<&mut PartialCall> {
        self.calls.iter_mut().rev().find(|call| call.index == index)
    }
}
