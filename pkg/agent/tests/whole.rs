//! Checks that the events of a run, and the conversation it leaves, are complete. The tests of MCP have this file too.

use std::collections::HashMap;

use super::{Conversation, encoders};
use forgeline_types::{
    AgentEvent, Envelope, ToolCallContentEvent, ToolCallEndEvent, ToolCallEvent,
    ToolCallStartEvent, ToolResultEvent, UpdateBusyEvent,
};

/// Checks that the events are numbered without a gap, that each start has its end with the content between them, and that
/// each call has its result.
#[expect(clippy::wildcard_enum_match_arm, reason = "most events neither start nor end anything")]
pub(crate) fn assert_whole(events: &[Envelope]) {
    let kinds = || events.iter().map(|envelope| envelope.event.kind()).collect::<Vec<_>>();
    let count = |kind| kinds().iter().filter(|it| **it == kind).count();
    let (mut thinking, mut message, mut calls) = (0_i32, 0_i32, HashMap::<u32, i32>::new());
    let mut open: Vec<&str> = Vec::new();
    for (at, envelope) in events.iter().enumerate() {
        assert_eq!(envelope.seq, at as u64, "no gap");
        match &envelope.event {
            AgentEvent::ThinkingStart => thinking += 1,
            AgentEvent::ThinkingEnd => thinking -= 1,
            AgentEvent::MessageStart => message += 1,
            AgentEvent::MessageEnd => message -= 1,
            AgentEvent::ThinkingContent(_) => assert_eq!(thinking, 1),
            AgentEvent::MessageContent(_) => assert_eq!(message, 1),
            AgentEvent::ToolCallStart(ToolCallStartEvent { index, .. }) => {
                *calls.entry(*index).or_default() += 1;
            }
            AgentEvent::ToolCallContent(ToolCallContentEvent { index, .. }) => {
                assert_eq!(calls[index], 1);
            }
            AgentEvent::ToolCallEnd(ToolCallEndEvent { index, .. }) => {
                *calls.entry(*index).or_default() -= 1;
            }
            AgentEvent::ToolCall(ToolCallEvent { call_id: id, .. }) => open.push(id),
            AgentEvent::ToolResult(ToolResultEvent { call_id: id, .. })
            | AgentEvent::ToolResultError(ToolResultEvent { call_id: id, .. }) => {
                if let Some(at) = open.iter().position(|call| *call == &**id) {
                    open.remove(at);
                }
            }
            _ => {}
        }
        assert!((0..=1).contains(&(thinking + message)), "one section at most");
    }
    assert_eq!((thinking, message), (0, 0), "{:?}", kinds());
    assert!(calls.values().all(|open| *open == 0), "{:?}", kinds());
    assert!(open.is_empty(), "{open:?} have no result: {:?}", kinds());
    assert_eq!(count("api_call_start"), count("api_call_end"));
    let last = events.last().map(|last| &last.event);
    assert!(
        matches!(last, Some(AgentEvent::UpdateBusy(UpdateBusyEvent { busy: false, .. }))),
        "{:?}",
        kinds()
    );
}

/// Checks that each message has parts, that the results of its calls follow it in order, and that every vendor's encoder
/// accepts the conversation.
pub(crate) fn assert_history_is_whole(agent: &Conversation) {
    let conversation = agent.transcript();
    for (at, message) in conversation.iter().enumerate() {
        assert!(!message.parts.is_empty());
        let calls: Vec<_> = message.tool_calls().map(|call| call.id.clone()).collect();
        if !calls.is_empty() {
            let next = conversation.messages().get(at + 1).expect("the results follow");
            let results: Vec<_> = next.tool_results().map(|it| it.call_id.clone()).collect();
            assert_eq!(results, calls);
        }
    }
    encoders::assert_taken(&conversation);
}
