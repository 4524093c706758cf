//! The sections and calls that the events of an answer have started and not ended.

use forgeline_types::{AgentEvent, CallOutcome, Text, ToolCallEndEvent, ToolCallStartEvent};

/// The open sections and calls, in the order in which they started.
#[derive(Default)]
pub(super) struct OpenBrackets(Vec<OpenBracket>);

#[derive(PartialEq, Eq)]
enum OpenBracket {
    Thinking,
    Message,
    Call(u32, Option<Text>),
}

impl OpenBrackets {
    /// Records an emitted event.
    pub(super) fn note(&mut self, event: &AgentEvent) {
        if let AgentEvent::ToolCallStart(ToolCallStartEvent { index, tool_name, .. }) = event {
            self.0.push(OpenBracket::Call(*index, tool_name.clone()));
        } else if let AgentEvent::ToolCallEnd(ToolCallEndEvent { index, .. }) = event {
            self.0.retain(|open| !matches!(open, OpenBracket::Call(it, _) if it == index));
        } else if *event == AgentEvent::ThinkingStart {
            self.0.push(OpenBracket::Thinking);
        } else if *event == AgentEvent::MessageStart {
            self.0.push(OpenBracket::Message);
        } else if *event == AgentEvent::ThinkingEnd {
            self.0.retain(|open| *open != OpenBracket::Thinking);
        } else if *event == AgentEvent::MessageEnd {
            self.0.retain(|open| *open != OpenBracket::Message);
        }
    }

    /// Returns the events that would close what is open.
    pub(super) fn ends(&self) -> Vec<AgentEvent> {
        let end = |open: &OpenBracket| match open {
            OpenBracket::Thinking => AgentEvent::ThinkingEnd,
            OpenBracket::Message => AgentEvent::MessageEnd,
            OpenBracket::Call(index, tool_name) => AgentEvent::ToolCallEnd(
                ToolCallEndEvent::new(*index, CallOutcome::Incomplete).tool_name(tool_name.clone()),
            ),
        };
        self.0.iter().map(end).collect()
    }
}
