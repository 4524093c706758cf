//! The assistant's message, put together from the events of one response.

use crate::{
    agent::prompts::render_call,
    llm::StreamChunk,
    types::{AgentEvent, Json, Message, MessageRole, Part, ProviderItem, Signature, ToolCall},
};

/// Collects what a response says, in the order in which it says it.
///
/// In text mode calls are kept as the model wrote them, markers and all: what it reads of itself in
/// the next turn is what it said, and the request begins with the same bytes as the one before.
#[derive(Debug)]
pub(super) struct AnswerParts {
    pieces: Vec<Piece>,
    /// How many bytes of each call had arrived, by index.
    call_bytes: Vec<(u32, usize)>,
    source: Source,
}

/// Where texts and calls come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The events.
    Events,
    /// The chunks, before calls are read out of them.
    Chunks,
    /// The chunks, and native calls from the events: nobody asked for them.
    ChunksAndCalls,
}

#[derive(Debug)]
enum Piece {
    Thinking(String, Option<Signature>),
    Text(String),
    Call(u32, Option<Signature>),
    Item(ProviderItem),
}

impl AnswerParts {
    /// Of an answer in native mode or in text mode.
    pub(super) fn new(native: bool) -> Self {
        let source = if native { Source::Events } else { Source::Chunks };
        Self { pieces: Vec::new(), call_bytes: Vec::new(), source }
    }

    /// Takes a chunk, before its events.
    pub(super) fn chunk(&mut self, chunk: &StreamChunk) {
        if let Some(proof) = chunk.details.as_deref().and_then(|details| details.signature.as_ref())
        {
            self.signature(proof.clone());
        }
        if self.source == Source::Events {
            return;
        }
        if chunk.is_thinking() {
            self.thinking(&chunk.content);
        } else {
            self.text(&chunk.content);
        }
        if !chunk.tool_calls.is_empty() {
            self.source = Source::ChunksAndCalls;
        }
    }

    pub(super) fn push(&mut self, event: &AgentEvent) {
        if let AgentEvent::ToolCallStart { index, .. } = event {
            self.call_bytes.push((*index, 0));
            if self.source != Source::Chunks {
                self.pieces.push(Piece::Call(*index, None));
            }
        } else if let AgentEvent::ToolCallContent { index, content, .. } = event {
            let call = self.call_bytes.iter_mut().rev().find(|(at, _)| at == index);
            if let Some((_, bytes)) = call {
                *bytes += content.len();
            }
        } else if let AgentEvent::ProviderItem(item) = event {
            if !item.is_unknown_event() {
                self.pieces.push(Piece::Item(item.clone()));
            }
        } else if self.source != Source::Events {
            // The chunks had it.
        } else if let AgentEvent::ThinkingContent { content } = event {
            self.thinking(content);
        } else if let AgentEvent::MessageContent { content, .. } = event {
            self.text(content);
        }
    }

    fn thinking(&mut self, more: &str) {
        match self.pieces.last_mut() {
            _ if more.is_empty() => {}
            Some(Piece::Thinking(text, None)) => text.push_str(more),
            _ => self.pieces.push(Piece::Thinking(more.to_owned(), None)),
        }
    }

    /// The provider's proof of what stands before it.
    fn signature(&mut self, proof: Signature) {
        match self.pieces.last_mut() {
            Some(Piece::Thinking(_, known @ None) | Piece::Call(_, known @ None)) => {
                *known = Some(proof);
            }
            _ => self.pieces.push(Piece::Thinking(String::new(), Some(proof))),
        }
    }

    fn text(&mut self, more: &str) {
        match self.pieces.last_mut() {
            _ if more.is_empty() => {}
            Some(Piece::Text(text)) => text.push_str(more),
            _ => self.pieces.push(Piece::Text(more.to_owned())),
        }
    }

    /// How many bytes of call `index` had arrived.
    pub(super) fn body_bytes(&self, index: u32) -> usize {
        let call = self.call_bytes.iter().find(|(at, _)| *at == index);
        call.map_or(0, |(_, bytes)| *bytes)
    }

    /// The message to keep; `None` when the response said nothing.
    pub(super) fn into_message(self, calls: &[ToolCall]) -> Option<Message> {
        let mut parts = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            match piece {
                Piece::Thinking(text, signature) => {
                    parts.push(Part::Thinking { text, signature });
                }
                Piece::Item(item) => parts.push(Part::ProviderItem(item)),
                Piece::Text(text) => push_text(&mut parts, &text),
                Piece::Call(index, signature) => {
                    let Some(call) = calls.iter().find(|call| call.index == index) else {
                        continue;
                    };
                    if self.source == Source::Events {
                        let call = ToolCall { signature, ..call.clone() };
                        parts.push(Part::ToolCall(readable(call)));
                    } else {
                        push_call(&mut parts, &render_call(call));
                    }
                }
            }
        }
        let says_something = parts.iter().any(|part| match part {
            Part::Text { text } => !text.trim().is_empty(),
            Part::ToolCall(_) | Part::ProviderItem(_) => true,
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
    use crate::llm::ToolCallDelta;

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
        let mut parts = AnswerParts::new(true);
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
        let calls =
            [ToolCall::new("call_0", "add", json!({ "a": 1 })), ToolCall::pending(1, "call_1")];
        let message = parts.into_message(&calls).unwrap();
        let kinds = message.parts.iter().map(|part| serde_json::to_value(part).unwrap());
        let kinds: Vec<_> = kinds.collect();
        let kinds: Vec<_> = kinds.iter().map(|part| part["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["thinking", "text", "tool_call", "text", "tool_call"]);
        assert_eq!(message.text(), "One moment.And");
    }

    #[test]
    fn in_text_mode_the_message_is_what_the_model_wrote() {
        let mut parts = AnswerParts::new(false);
        parts.chunk(&StreamChunk::thinking("Hm."));
        parts.push(&AgentEvent::ThinkingContent { content: "Hm.".into() });
        for text in ["See <to", "ol>{…}</tool>"] {
            parts.chunk(&StreamChunk::message(text));
        }
        parts.push(&content("See "));
        for event in &call_events(0, "{…}") {
            parts.push(event);
        }
        assert_eq!(parts.body_bytes(0), "{…}".len());
        let call = || ToolCall::new("call_0", "add", json!({ "a": 1 }));
        let message = parts.into_message(&[call()]).unwrap();
        assert_eq!((message.text().as_str(), message.parts.len()), ("See <tool>{…}</tool>", 2));

        let mut parts = AnswerParts::new(false);
        parts.chunk(&StreamChunk::message("See"));
        parts.chunk(&StreamChunk::calls(vec![ToolCallDelta::new(0)]));
        for event in &call_events(0, "{\"a\":1}") {
            parts.push(event);
        }
        let message = parts.into_message(&[call()]).unwrap();
        let want = "See\n<tool>\n{\"tool_name\": \"add\", \"arguments\": {\"a\":1}}\n</tool>\n";
        assert_eq!(message.text(), want);
    }

    #[test]
    fn what_is_empty_is_not_kept_and_broken_arguments_are_not_sent_back() {
        assert_eq!(AnswerParts::new(true).into_message(&[]), None);
        let mut blank = AnswerParts::new(true);
        blank.push(&AgentEvent::ThinkingContent { content: "Hm.".into() });
        assert_eq!(blank.into_message(&[]), None);
        let mut parts = AnswerParts::new(true);
        for event in &call_events(0, "{\"a") {
            parts.push(event);
        }
        let mut cut = ToolCall::pending(0, "call_0");
        cut.arguments_raw = "{\"a".to_owned();
        let message = parts.into_message(&[cut]).unwrap();
        let kept: Vec<_> = message.tool_calls().collect();
        assert_eq!((kept.len(), kept[0].arguments_raw.as_str()), (1, "{}"));
    }
}
