//! The lines of a run: its requests, answers and calls, out of its events.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use forgeline::{
    agent::observe::{Observer, RequestSent, RunBegan},
    types::{
        AgentEvent, ApiCallEndEvent, ApiCallStartEvent, Envelope, ErrorEvent, MessageContentEvent,
        Text, ThinkingContentEvent, TokenUsageEvent, ToolCallEvent, ToolResultEvent,
    },
};
use serde_json::Value;

use super::cut;
use crate::render::usage_line;

/// The sizes of the requests of a run, by turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestSizes(Arc<Mutex<RequestFacts>>);

/// What is known of the requests of a run.
#[derive(Debug, Default)]
struct RequestFacts {
    /// The tools of the agent; in text mode, requests have none.
    tools: usize,
    sizes: BTreeMap<u32, RequestSize>,
}

/// The size of a request.
#[derive(Debug, Clone, Copy)]
struct RequestSize {
    messages: usize,
    tools: usize,
    system_chars: usize,
    /// Characters of the last message.
    last_chars: usize,
}

impl RequestSizes {
    fn take(&self, turn: u32) -> Option<RequestSize> {
        self.lock().sizes.remove(&turn)
    }

    fn lock(&self) -> MutexGuard<'_, RequestFacts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for RequestSizes {
    fn run_began(&self, run: &RunBegan) {
        *self.lock() = RequestFacts { tools: run.tools, sizes: BTreeMap::new() };
    }

    fn wants_requests(&self) -> bool {
        true
    }

    fn request_sent(&self, request: &RequestSent) {
        let texts = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
        let last = request.body["messages"].as_array().and_then(|messages| messages.last());
        let parts = last.and_then(|last| last["parts"].as_array()).map_or(&[][..], Vec::as_slice);
        let mut known = self.lock();
        let size = RequestSize {
            messages: request.messages,
            tools: known.tools,
            system_chars: texts(&request.body["system"]),
            last_chars: parts
                .iter()
                .map(|part| texts(&part["text"]) + texts(&part["content"]))
                .sum(),
        };
        known.sizes.insert(request.turn, size);
    }
}

/// Writes the lines of runs.
#[derive(Debug)]
pub(crate) struct TraceLines {
    requests: RequestSizes,
    /// The turn whose request was not reported, with the name of the model.
    asked: Option<(u32, Text)>,
    answer: AnswerProgress,
}

/// An answer as far as it has come.
#[derive(Debug, Default)]
struct AnswerProgress {
    text: String,
    thinking_chars: usize,
    calls: usize,
    usage: String,
}

impl TraceLines {
    pub(crate) fn new(requests: RequestSizes) -> Self {
        Self { requests, asked: None, answer: AnswerProgress::default() }
    }

    /// Returns the lines of an event.
    pub(crate) fn event(&mut self, envelope: &Envelope) -> Vec<String> {
        let mut lines = Vec::new();
        let event = &envelope.event;
        if let AgentEvent::ApiCallStart(ApiCallStartEvent { model, .. }) = event {
            self.asked = Some((envelope.turn, model.clone()));
            self.answer = AnswerProgress::default();
        }
        self.tell_request(matches!(event, AgentEvent::ApiCallStart(_)), &mut lines);
        if let AgentEvent::MessageContent(MessageContentEvent { content, .. }) = event {
            self.answer.text.push_str(content);
        } else if let AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) = event {
            self.answer.thinking_chars += content.chars().count();
        } else if let AgentEvent::ToolCallStart(_) = event {
            self.answer.calls += 1;
        } else if let AgentEvent::TokenUsage(TokenUsageEvent { usage, .. }) = event {
            self.answer.usage = usage_line(usage);
        } else if let AgentEvent::ApiCallEnd(ApiCallEndEvent {
            duration_ms, first_token_ms, ..
        }) = event
        {
            self.answered(*duration_ms, *first_token_ms, &mut lines);
        } else if let AgentEvent::ToolCall(ToolCallEvent { tool_name, arguments, .. }) = event {
            lines.push(cut(1, &format!("{tool_name} {}", arguments.as_str())));
        } else if let AgentEvent::ToolResult(ToolResultEvent {
            tool_name,
            content,
            duration_ms,
            ..
        }) = event
        {
            let text =
                format!("{tool_name} returned {}", size("character", content.chars().count()));
            lines.push(cut(1, &format!("{text} in {}", seconds(*duration_ms))));
        } else if let AgentEvent::ToolResultError(ToolResultEvent {
            tool_name,
            content,
            duration_ms,
            ..
        }) = event
        {
            let text = format!("{tool_name} failed in {}: {content}", seconds(*duration_ms));
            lines.push(cut(1, &text));
        } else if let AgentEvent::Error(ErrorEvent { error, .. }) = event {
            lines.push(cut(0, &format!("failed: {}", error.message)));
        } else if *event == AgentEvent::TurnEnd {
            lines.push(cut(0, "the run ends"));
        }
        lines
    }

    /// Tells of the request, once its size is known; behind the next event in any case.
    fn tell_request(&mut self, is_new: bool, lines: &mut Vec<String>) {
        let Some((turn, model)) = &self.asked else { return };
        let sent = self.requests.take(*turn);
        let model = if model.is_empty() { "the server's model" } else { model };
        if sent.is_none() && is_new {
            return;
        }
        lines.push(cut(0, &format!("turn {turn}, {model}")));
        self.asked = None;
        if let Some(RequestSize { messages, tools, system_chars, last_chars }) = sent {
            let (messages, tools) = (size("message", messages), size("tool", tools));
            let last = size("character", last_chars);
            lines.push(cut(1, &format!("asked with {messages}, the last of {last}, {tools}")));
            let system = size("character", system_chars);
            lines.push(cut(1, &format!("system prompt of {system}")));
        }
    }

    fn answered(&mut self, duration_ms: u64, first_ms: Option<u64>, lines: &mut Vec<String>) {
        let AnswerProgress { text, thinking_chars, calls, usage } =
            std::mem::take(&mut self.answer);
        let first = first_ms.map(|first| format!("first after {}", seconds(first)));
        let first = first.unwrap_or_else(|| "no output".to_owned());
        let facts = format!("answered in {}, {first}", seconds(duration_ms));
        let thinking = match thinking_chars {
            0 => String::new(),
            chars => format!(", {chars} of reasoning"),
        };
        let facts = format!("{facts}, {}{thinking}", size("call", calls));
        lines.push(cut(1, &facts));
        if !usage.is_empty() {
            lines.push(cut(1, &usage));
        }
        if !text.trim().is_empty() {
            lines.push(cut(1, &format!("\"{}\"", text.trim())));
        }
    }
}

/// Returns a count of things.
fn size(what: &str, count: usize) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03} s", millis / 1000, millis % 1000)
}
