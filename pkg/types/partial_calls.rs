//! The arguments of a response's calls while they arrive.

use super::{
    AgentEvent, CallOutcome, PartialJson, Text, ToolCallContentEvent, ToolCallEndEvent,
    ToolCallStartEvent,
};

/// One call, as far as it has arrived.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, PartialCalls, Text, ToolCallStartEvent};
///
/// let mut calls = PartialCalls::default();
/// let start = ToolCallStartEvent::new(0, "a").tool_name(Text::from("f"));
/// calls.event(&AgentEvent::ToolCallStart(start));
/// let call = calls.get(0).unwrap();
/// assert_eq!((call.tool_name.as_deref(), &call.outcome), (Some("f"), &None));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PartialCall {
    /// Position among the calls of the response, from 0.
    pub index: u32,
    /// The call's id.
    pub id: Text,
    /// The tool's name; `None` until it is known.
    pub tool_name: Option<Text>,
    /// The arguments so far. [`PartialJson::error`] reports a fault in them.
    pub arguments: PartialJson,
    /// The outcome; `None` until the call ends.
    pub outcome: Option<CallOutcome>,
}

/// Follows the events of a response and keeps the partial arguments of each call.
///
/// Calls remain, with their outcome, until the next response begins.
///
/// # Examples
///
/// ```
/// use forgeline::types::{AgentEvent, PartialCalls, ToolCallContentEvent, ToolCallStartEvent};
///
/// let mut calls = PartialCalls::default();
/// # let started = AgentEvent::ToolCallStart(ToolCallStartEvent::new(0, "call_0"));
/// # let arguments = r#"{"content":"Once up"#;
/// # let grew = AgentEvent::ToolCallContent(ToolCallContentEvent::new(0, arguments, arguments));
/// for event in [started, grew] {
///     calls.event(&event);
///     if let AgentEvent::ToolCallContent(ToolCallContentEvent { index, .. }) = event {
///         let content = calls.get(index).and_then(|call| call.arguments.pointer("/content"));
///         assert_eq!(content.and_then(|content| content.as_str()), Some("Once up"));
///     }
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct PartialCalls {
    /// The calls, in order of their starts.
    calls: Vec<PartialCall>,
}

impl PartialCalls {
    /// Processes the next event; one that does not concern a call changes nothing.
    pub fn event(&mut self, event: &AgentEvent) {
        if let AgentEvent::ApiCallStart(_) = event {
            self.calls.clear();
        } else if let AgentEvent::ToolCallStart(ToolCallStartEvent {
            index,
            call_id: id,
            tool_name,
            ..
        }) = event
        {
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
        } else if let AgentEvent::ToolCallContent(ToolCallContentEvent {
            index, arguments, ..
        }) = event
        {
            if let Some(call) = self.call(*index) {
                // The value itself records a fault.
                call.arguments.push(arguments).ok();
            }
        } else if let AgentEvent::ToolCallEnd(ToolCallEndEvent {
            index, tool_name, outcome, ..
        }) = event
            && let Some(call) = self.call(*index)
        {
            call.tool_name.clone_from(tool_name);
            call.outcome = Some(outcome.clone());
        }
    }

    /// Returns the call with this index; `None` before its start.
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&PartialCall> {
        self.calls.iter().rev().find(|call| call.index == index)
    }

    /// Iterates over the calls of the response so far, in the order of their starts.
    pub fn iter(&self) -> impl Iterator<Item = &PartialCall> {
        self.calls.iter()
    }

    fn call(&mut self, index: u32) -> Option<&mut PartialCall> {
        self.calls.iter_mut().rev().find(|call| call.index == index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ApiCallStartEvent;

    #[test]
    fn the_calls_of_a_response_are_followed_by_their_index() {
        let start = |index, name: Option<&str>| {
            AgentEvent::ToolCallStart(
                ToolCallStartEvent::new(index, format!("call_{index}"))
                    .tool_name(name.map(Into::into)),
            )
        };
        let content = |index, json: &str| {
            AgentEvent::ToolCallContent(ToolCallContentEvent::new(index, json, json))
        };
        let end = |index, outcome| {
            AgentEvent::ToolCallEnd(
                ToolCallEndEvent::new(index, outcome).tool_name(Text::from("f")),
            )
        };
        let mut calls = PartialCalls::default();
        for event in [
            start(0, Some("f")),
            content(0, "{\"a\":\""),
            start(1, None),
            content(1, "{'"),
            content(0, "x"),
            content(7, "{}"),
        ] {
            calls.event(&event);
        }
        let so_far = |calls: &PartialCalls, index| {
            calls.get(index).and_then(|call| call.arguments.value()).map(|value| value.to_string())
        };
        assert_eq!(so_far(&calls, 0).as_deref(), Some(r#"{"a":"x"}"#));
        assert_eq!(so_far(&calls, 1).as_deref(), Some("{}"));
        assert_eq!(calls.get(1).unwrap().arguments.error().unwrap().offset(), 1);
        assert!(calls.get(7).is_none() && calls.get(1).unwrap().tool_name.is_none());
        calls.event(&end(1, CallOutcome::Incomplete));
        let call = calls.get(1).unwrap();
        assert_eq!(
            (call.tool_name.as_deref(), &call.outcome),
            (Some("f"), &Some(CallOutcome::Incomplete))
        );
        assert_eq!(calls.iter().count(), 2);
        // The next response counts from 0 again.
        calls.event(&start(0, Some("g")));
        assert_eq!((calls.iter().count(), so_far(&calls, 0)), (1, None));
        calls.event(&AgentEvent::ApiCallStart(ApiCallStartEvent::new("p", "m")));
        assert_eq!(calls.iter().count(), 0);
    }
}
