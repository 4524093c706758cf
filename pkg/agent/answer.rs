//! The assistant's message, put together from the events of one response.

use crate::{
    agent::prompts::render_call,
    types::{AgentEvent, Json, Message, MessageRole, Part, ToolCall},
};

/// Collects what a response says, in the order in which it says it.
#[derive(Debug, Default)]
pub(super) struct AnswerParts {
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Thinking(String),
    Text(String),
    Call { index: u32, body: String },
}

impl AnswerParts {
    pub(super) fn push(&mut self, event: &AgentEvent) {
        if let AgentEvent::ThinkingContent { content } = event {
            match self.pieces.last_mut() {
                Some(Piece::Thinking(text)) => text.push_str(content),
                _ => self.pieces.push(Piece::Thinking(content.to_string())),
            }
        } else if let AgentEvent::MessageContent { content, .. } = event {
            match self.pieces.last_mut() {
                Some(Piece::Text(text)) => text.push_str(content),
                _ => self.pieces.push(Piece::Text(content.to_string())),
            }
        } else if let AgentEvent::ToolCallStart { index, .. } = event {
            self.pieces.push(Piece::Call { index: *index, body: String::new() });
        } else if let AgentEvent::ToolCallContent { index, content, .. } = event {
            let body = self.pieces.iter_mut().rev().find_map(|piece| match piece {
                Piece::Call { index: at, body } if at == index => Some(body),
                Piece::Call { .. } | Piece::Text(_) | Piece::Thinking(_) => None,
            });
            if let Some(body) = body {
                body.push_str(content);
            }
        }
    }

    /// How many bytes of call `index` had arrived.
    pub(super) fn body_bytes(&self, index: u32) -> usize {
        let body = self.pieces.iter().find_map(|piece| match piece {
            Piece::Call { index: at, body } if *at == index => Some(body.len()),
            Piece::Call { .. } | Piece::Text(_) | Piece::Thinking(_) => None,
        });
        body.unwrap_or_default()
    }

    /// The message to keep; `None` when the response said nothing.
    ///
    /// In native mode calls are parts; in text mode they are text, as the model wrote them.
    pub(super) fn into_message(self, calls: &[ToolCall], native: bool) -> Option<Message> {
        let mut parts = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            match piece {
                Piece::Thinking(text) => parts.push(Part::Thinking { text, signature: None }),
                Piece::Text(text) => push_text(&mut parts, &text),
                Piece::Call { index, body } => {
                    let Some(call) = calls.iter().find(|call| call.index == index) else {
                        continue;
                    };
                    if native {
                        parts.push(Part::ToolCall(readable(call.clone())));
                    } else {
                        push_call(&mut parts, &render_call(call, &body));
                    }
                }
            }
        }
        let says_something = parts.iter().any(|part| match part {
            Part::Text { text } => !text.trim().is_empty(),
            Part::ToolCall(_) => true,
            Part::Thinking { .. }
            | Part::ToolResult(_)
            | Part::Image { .. }
            | Part::Document { .. } => false,
        });
        says_something.then(|| Message::new(MessageRole::Assistant, parts))
    }
}

fn push_text(parts: &mut Vec<Part>, more: &str) {
    match parts.last_mut() {
        Some(Part::Text { text }) => text.push_str(more),
        _ => parts.push(Part::Text { text: more.to_owned() }),
    }
}

/// A call stands on lines of its own.
fn push_call(parts: &mut Vec<Part>, call: &str) {
    if let Some(Part::Text { text }) = parts.last_mut()
        && !text.ends_with('\n')
    {
        text.push('\n');
    }
    push_text(parts, call);
    push_text(parts, "\n");
}

/// Servers refuse a history whose arguments are no JSON object, so a call that could not be read is
/// kept without them; its result tells the model what was wrong.
fn readable(mut call: ToolCall) -> ToolCall {
    let is_object = call.arguments.as_ref().is_some_and(|json| json.as_str().starts_with('{'));
    if !is_object {
        "{}".clone_into(&mut call.arguments_raw);
        call.arguments = Json::parse("{}").ok();
    }
    call
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(text: &str) -> AgentEvent {
        AgentEvent::MessageContent { content: text.into(), refusal: false }
    }

    fn call_events(index: u32, body: &str) -> [AgentEvent; 2] {
        let id = format!("call_{index}").into();
        [
            AgentEvent::ToolCallStart { index, id, tool_name: None },
            AgentEvent::ToolCallContent { index, content: body.into(), arguments: "".into() },
        ]
    }

    #[test]
    fn the_message_says_it_in_the_order_of_the_response() {
        let mut parts = AnswerParts::default();
        parts.push(&AgentEvent::ThinkingContent { content: "Hm.".into() });
        parts.push(&content("One "));
        parts.push(&content("moment."));
        for event in &call_events(0, "{…}") {
            parts.push(event);
        }
        parts.push(&content("And"));
        for event in &call_events(1, "{\"tool") {
            parts.push(event);
        }
        assert_eq!(parts.body_bytes(1), 6);
        let mut cut = ToolCall::pending(1, "call_1");
        cut.arguments_raw = "{\"tool".to_owned();
        let calls = [ToolCall::new("call_0", "add", json!({ "a": 1 })), cut];
        let message = parts.into_message(&calls, false).unwrap();
        assert_eq!(
            message.text(),
            "One moment.\n<tool>\n{\"tool_name\": \"add\", \"arguments\": {\"a\":1}}\n</tool>\nAnd\n\
             <tool>\n{\"tool\n</tool>\n"
        );
        assert_eq!(message.parts.len(), 2);
    }

    #[test]
    fn what_is_empty_is_not_kept_and_broken_arguments_are_not_sent_back() {
        assert_eq!(AnswerParts::default().into_message(&[], true), None);
        let mut blank = AnswerParts::default();
        blank.push(&AgentEvent::ThinkingContent { content: "Hm.".into() });
        assert_eq!(blank.into_message(&[], true), None);
        let mut parts = AnswerParts::default();
        for event in &call_events(0, "{\"a") {
            parts.push(event);
        }
        let mut cut = ToolCall::pending(0, "call_0");
        cut.arguments_raw = "{\"a".to_owned();
        let message = parts.into_message(&[cut], true).unwrap();
        let kept: Vec<_> = message.tool_calls().collect();
        assert_eq!((kept.len(), kept[0].arguments_raw.as_str()), (1, "{}"));
    }
}
