//! The sections and calls that the events of an answer have started and not ended.

use crate::types::{AgentEvent, CallOutcome, Text};

/// The open sections and calls, in the order in which they started.
#[derive(Default)]
pub(super) struct Brackets(Vec<Open>);

#[derive(PartialEq, Eq)]
enum Open {
    Thinking,
    Message,
    Call(u32, Option<Text>),
}

impl Brackets {
    /// Records an emitted event.
    pub(super) fn note(&mut self, event: &AgentEvent) {
        if let AgentEvent::ToolCallStart { index, tool_name, .. } = event {
            self.0.push(Open::Call(*index, tool_name.clone()));
        } else if let AgentEvent::ToolCallEnd { index, .. } = event {
            self.0.retain(|open| !matches!(open, Open::Call(it, _) if it == index));
        } else if *event == AgentEvent::ThinkingStart {
            self.0.push(Open::Thinking);
        } else if *event == AgentEvent::MessageStart {
            self.0.push(Open::Message);
        } else if *event == AgentEvent::ThinkingEnd {
            self.0.retain(|open| *open != Open::Thinking);
        } else if *event == AgentEvent::MessageEnd {
            self.0.retain(|open| *open != Open::Message);
        }
    }

    /// Returns the events that would close what is open.
    pub(super) fn ends(&self) -> Vec<AgentEvent> {
        let end = |open: &Open| match open {
            Open::Thinking => AgentEvent::ThinkingEnd,
            Open::Message => AgentEvent::MessageEnd,
            Open::Call(index, tool_name) => AgentEvent::ToolCallEnd {
                index: *index,
                tool_name: tool_name.clone(),
                outcome: CallOutcome::Incomplete,
                repairs: Vec::new(),
            },
        };
        self.0.iter().map(end).collect()
    }
}
