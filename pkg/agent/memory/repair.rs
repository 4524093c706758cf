//! Repair of stored conversations.

use std::sync::Arc;

use crate::prompts::feedback;
use forgeline_types::{Json, Message, MessageRole, Part, Text, ToolCall, ToolResult, Transcript};

/// Returns a conversation that every provider accepts, made from one that may have been damaged in
/// storage; an intact conversation is returned unchanged.
///
/// Each call gets one result, after its answer and in the order of the calls: a missing result is replaced by
/// one that says so, and a result without a call is dropped. Consecutive answers become one, empty messages
/// are removed, and arguments that are not a JSON object become an empty one. The text of messages is kept.
///
/// A [`ConversationMemory`](super::ConversationMemory) created from messages does this, as does
/// [`Conversation::resume`](crate::Conversation::resume) with runs that had ended; call this function in memories of your own.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::memory::repaired, types::{Message, MessageRole, Part, ToolCall, Transcript}};
/// use serde_json::json;
///
/// let call = Part::ToolCall(ToolCall::new("call_0", "look", json!({})));
/// let broken: Transcript = [
///     Message::user("Look."),
///     Message::new(MessageRole::Assistant, vec![call]),
///     Message::user("Well?"),
/// ]
/// .into_iter()
/// .collect();
/// let whole = repaired(&broken);
/// assert_eq!(whole.len(), 4);
/// assert!(whole.messages()[2].tool_results().next().is_some());
/// ```
#[must_use]
pub fn repaired(stored: &Transcript) -> Transcript {
    Transcript::shared(repair(stored.messages()))
}

/// Returns messages that every provider accepts.
pub(crate) fn repair(stored: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut whole: Vec<Arc<Message>> = Vec::with_capacity(stored.len());
    let mut open: Option<UnansweredCalls> = None;
    for message in stored {
        if message.role == MessageRole::Tool
            && let Some(open) = &mut open
        {
            open.take(message);
            continue;
        }
        let Some(message) = sound(message) else { continue };
        let last = whole.last().map(|last| last.role);
        match message.role {
            // Calls that were written as text leave no native calls before their results.
            MessageRole::Tool if last != Some(MessageRole::Assistant) => continue,
            MessageRole::Assistant if open.is_none() && last == Some(MessageRole::Assistant) => {
                if let Some(joined) = whole.last().and_then(|last| joined(last, &message)) {
                    whole.pop();
                    open = UnansweredCalls::of_answer(&joined);
                    whole.push(joined);
                    continue;
                }
            }
            MessageRole::Assistant
            | MessageRole::Tool
            | MessageRole::User
            | MessageRole::System => {}
            _ => {}
        }
        whole.extend(open.take().map(UnansweredCalls::close));
        if message.role == MessageRole::Assistant {
            open = UnansweredCalls::of_answer(&message);
        }
        whole.push(message);
    }
    whole.extend(open.map(UnansweredCalls::close));
    whole
}

/// The calls of an answer, and the results found for them.
struct UnansweredCalls {
    calls: Vec<(Text, Text)>,
    /// The messages with the results, as they were stored.
    stored: Vec<Arc<Message>>,
}

impl UnansweredCalls {
    fn of_answer(answer: &Message) -> Option<Self> {
        let calls: Vec<_> =
            answer.tool_calls().map(|call| (call.id.clone(), call.name.clone())).collect();
        (!calls.is_empty()).then(|| Self { calls, stored: Vec::new() })
    }

    fn take(&mut self, results: &Arc<Message>) {
        self.stored.push(Arc::clone(results));
    }

    /// Returns one message with the results of all calls.
    fn close(self) -> Arc<Message> {
        if let [only] = &self.stored[..]
            && only.parts.len() == self.calls.len()
            && self.calls.iter().map(|(id, _)| id).eq(only.tool_results().map(|it| &it.call_id))
        {
            return Arc::clone(only);
        }
        let mut found: Vec<_> = self.stored.iter().flat_map(|it| it.tool_results()).collect();
        let result = |(id, name): (Text, Text)| {
            let place = found.iter().position(|result| result.call_id == id);
            let result = place.map(|place| found.remove(place).clone());
            let missing = || ToolResult::new(id, name, feedback::INTERRUPTED).error(true);
            Part::ToolResult(result.unwrap_or_else(missing))
        };
        Arc::new(Message::new(MessageRole::Tool, self.calls.into_iter().map(result).collect()))
    }
}

/// Returns the message with only the parts that its role allows; `None` where nothing is left.
fn sound(message: &Arc<Message>) -> Option<Arc<Message>> {
    let may_be = |part: &Part| match part {
        Part::ToolCall(_) => message.role == MessageRole::Assistant,
        Part::ToolResult(_) => message.role == MessageRole::Tool,
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::Framing { .. }
        | Part::Image { .. }
        | Part::Document { .. }
        | Part::ProviderItem(_) => message.role != MessageRole::Tool,
        _ => message.role != MessageRole::Tool,
    };
    let says = |part: &Part| match part {
        Part::Text { text, .. } => !text.trim().is_empty(),
        Part::Thinking { .. } | Part::Framing { .. } => false,
        Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::Image { .. }
        | Part::Document { .. }
        | Part::ProviderItem(_) => true,
        _ => true,
    };
    let is_readable = |part: &Part| part.as_tool_call().is_none_or(has_object);
    let is_whole = message.parts.iter().all(|part| may_be(part) && is_readable(part));
    if is_whole {
        return message.parts.iter().any(says).then(|| Arc::clone(message));
    }
    let kept = message.parts.iter().filter(|part| may_be(part)).cloned();
    let parts: Vec<_> = kept.map(readable_part).collect();
    parts.iter().any(says).then(|| Arc::new(Message::new(message.role, parts)))
}

fn has_object(call: &ToolCall) -> bool {
    call.arguments.as_ref().is_some_and(|json| json.as_str().starts_with('{'))
}

fn readable_part(part: Part) -> Part {
    if let Part::ToolCall(call) = part { Part::ToolCall(readable(call)) } else { part }
}

/// Replaces arguments that could not be read: servers reject a history whose arguments are not a
/// JSON object, so such a call is kept without its arguments; its result tells the model what was
/// wrong.
pub(crate) fn readable(mut call: ToolCall) -> ToolCall {
    if !has_object(&call) {
        "{}".clone_into(&mut call.arguments_raw);
        call.arguments = Json::parse("{}").ok();
    }
    call
}

/// Returns two consecutive answers as one; `None` where a provider paused between them and continues from its own items.
fn joined(first: &Message, second: &Message) -> Option<Arc<Message>> {
    let has_items = |it: &Message| it.parts.iter().any(|part| part.as_provider_item().is_some());
    if has_items(first) || has_items(second) {
        return None;
    }
    let mut joined = first.clone();
    joined.parts.extend(second.parts.iter().cloned());
    Some(Arc::new(joined))
}
