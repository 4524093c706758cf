//! Checks that the events of a run, and the history it leaves, are whole.

use std::collections::HashMap;

use forgeline_agent::DefaultAgent;
use forgeline_types::{AgentEvent, Envelope};

/// Checks that the events are numbered without a gap, that each start has its end, and that content lies between them.
#[expect(clippy::wildcard_enum_match_arm, reason = "most events neither start nor end anything")]
pub(super) fn assert_whole(events: &[Envelope]) {
    let (mut thinking, mut message, mut calls) = (0_i32, 0_i32, HashMap::<u32, i32>::new());
    for (at, envelope) in events.iter().enumerate() {
        assert_eq!(envelope.seq, at as u64, "no gap");
        match &envelope.event {
            AgentEvent::ThinkingStart => thinking += 1,
            AgentEvent::ThinkingEnd => thinking -= 1,
            AgentEvent::MessageStart => message += 1,
            AgentEvent::MessageEnd => message -= 1,
            AgentEvent::ThinkingContent { .. } => assert_eq!(thinking, 1),
            AgentEvent::MessageContent { .. } => assert_eq!(message, 1),
            AgentEvent::ToolCallStart { index, .. } => *calls.entry(*index).or_default() += 1,
            AgentEvent::ToolCallContent { index, .. } => assert_eq!(calls[index], 1),
            AgentEvent::ToolCallEnd { index, .. } => *calls.entry(*index).or_default() -= 1,
            _ => {}
        }
        assert!((0..=1).contains(&(thinking + message)), "one section at most");
    }
    let kinds = || events.iter().map(|envelope| envelope.event.kind()).collect::<Vec<_>>();
    assert_eq!((thinking, message), (0, 0), "{:?}", kinds());
    assert!(calls.values().all(|open| *open == 0), "{:?}", kinds());
    let mut open: Vec<&str> = Vec::new();
    for envelope in events {
        match &envelope.event {
            AgentEvent::ToolCall { id, .. } => open.push(id),
            AgentEvent::ToolResult { id, .. } | AgentEvent::ToolResultError { id, .. } => {
                open.retain(|call| *call != &**id);
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?} have no result: {:?}", kinds());
}

/// Checks that each message has parts, and that the results of its calls follow it in order.
pub(super) fn assert_history_is_whole(agent: &DefaultAgent) {
    let transcript = agent.transcript();
    for (at, message) in transcript.iter().enumerate() {
        assert!(!message.parts.is_empty());
        let calls: Vec<_> = message.tool_calls().map(|call| call.id.clone()).collect();
        if !calls.is_empty() {
            let next = transcript.messages().get(at + 1).expect("the results follow");
            let results: Vec<_> = next.tool_results().map(|it| it.call_id.clone()).collect();
            assert_eq!(results, calls);
        }
    }
}
