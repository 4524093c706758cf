//! The last messages of a conversation, for a sub-agent.

use std::sync::Arc;

use forgeline_types::Message;

/// Returns at most `most` of the last messages, the oldest first. A message with calls and the one
/// with their results are included together or not at all: open calls are left out.
pub(super) fn recent(messages: &[Arc<Message>], most: usize) -> Vec<Arc<Message>> {
    let (mut kept, mut rest) = (Vec::new(), messages);
    while let Some((last, before)) = rest.split_last() {
        rest = before;
        if last.tool_calls().next().is_some() {
            continue;
        }
        let mut whole = vec![last];
        if last.tool_results().next().is_some() {
            let Some((asked, before)) = before.split_last() else { break };
            if asked.tool_calls().next().is_none() {
                continue;
            }
            rest = before;
            whole.push(asked);
        }
        if kept.len() + whole.len() > most {
            break;
        }
        kept.extend(whole.into_iter().cloned());
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use forgeline_types::{MessageRole, Part, ToolCall, ToolResult};

    fn call(id: &str) -> Arc<Message> {
        let call = Part::ToolCall(ToolCall::new(id, "echo", json!({})));
        Arc::new(Message::new(MessageRole::Assistant, vec![call]))
    }

    fn result(id: &str) -> Arc<Message> {
        let result = Part::ToolResult(ToolResult::new(id, "echo", "ok"));
        Arc::new(Message::new(MessageRole::Tool, vec![result]))
    }

    // Covers: E-29
    #[test]
    fn a_call_is_never_parted_from_its_result() {
        let said = |text: &str| Arc::new(Message::user(text));
        let messages = [said("1"), call("a"), result("a"), said("2"), call("b"), result("b")];
        let mut with_open = messages.to_vec();
        with_open.push(call("open"));
        for history in [&messages[..], &with_open[..]] {
            for (most, want) in
                [(0, 6), (1, 6), (2, 4), (3, 3), (4, 3), (5, 1), (6, 0), (9, 0), (usize::MAX, 0)]
            {
                assert_eq!(recent(history, most), messages[want..], "at most {most}");
            }
        }
        // Where a memory has dropped one of the two, the other is of no use.
        assert_eq!(recent(&[result("a"), said("2")], 6), [said("2")]);
        assert_eq!(recent(&[said("1"), result("a"), said("2")], 6), [said("1"), said("2")]);
        assert_eq!(recent(&[call("a"), said("2")], 6), [said("2")]);
        assert!(recent(&[], 6).is_empty());
    }
}
