//! The items of an answer besides text, reasoning and calls, which go back as they came.

use serde_json::value::RawValue;

use super::wire::{Annotation, Item};
use crate::{
    llm::{
        Protocol,
        decode::{
            self,
            lax_json::{text, value},
        },
    },
    types::{AgentEvent, Citation, ItemKind, Json, Text},
};

/// The vendor's name for the purpose of a message.
pub(super) const PHASE: &str = "phase";

/// The type of calls whose arguments are a text.
pub(super) const CUSTOM: &str = "custom_tool_call";

/// Tools that the server runs itself, by the type of their items, and the names that requests have
/// for them.
const SERVER_TOOLS: [(&str, &str); 8] = [
    ("web_search_call", "web_search"),
    ("file_search_call", "file_search"),
    ("code_interpreter_call", "code_interpreter"),
    ("mcp_call", "mcp"),
    ("image_generation_call", "image_generation"),
    // xAI's.
    ("x_search_call", "x_search"),
    ("collections_search_call", "collections_search"),
    ("code_execution_call", "code_execution"),
];

fn item(kind: ItemKind, raw: &RawValue) -> Option<AgentEvent> {
    decode::item(Protocol::OpenAiResponses.name(), kind, raw.get())
}

/// Returns a source of the text before it.
pub(super) fn citation(raw: &RawValue) -> Option<AgentEvent> {
    let annotation: Annotation<'_> = value(raw);
    let citation = Citation {
        url: annotation.url.non_empty(),
        title: annotation.title.non_empty().or_else(|| annotation.filename.non_empty()),
        start: annotation.start_index.0,
        end: annotation.end_index.0,
        ..Citation::default()
    };
    item(ItemKind::Citation(citation), raw)
}

/// Returns a reasoning item, which the next request needs.
pub(super) fn reasoning(raw: &RawValue) -> Option<AgentEvent> {
    item(ItemKind::Reasoning, raw)
}

/// Returns the server's word for the purpose of the message before it, such as `commentary`: models
/// want it back with the message.
pub(super) fn phase(wire: &Item<'_>) -> Option<AgentEvent> {
    item(ItemKind::Other { name: Text::from(PHASE) }, wire.phase?)
}

/// Returns a call whose arguments are a text as the vendor wrote it, which is how it goes back.
pub(super) fn custom_call(raw: &RawValue, wire: &Item<'_>) -> Option<AgentEvent> {
    item(ItemKind::Other { name: Text::from(CUSTOM) }, raw).filter(|_| !wire.call_id.0.is_empty())
}

/// Returns an item that is neither message nor reasoning nor a call for the agent.
///
/// Of a server's tool the call has the whole item, which goes back; its result has what the tool
/// answered, or `null` where the server keeps that to itself.
pub(super) fn other(raw: &RawValue, wire: &Item<'_>) -> Vec<AgentEvent> {
    let known = SERVER_TOOLS.iter().find(|(kind, _)| *kind == wire.kind.0);
    let Some((_, tool)) = known else {
        let name = wire.kind.non_empty().unwrap_or(Text::from("item"));
        return Vec::from_iter(item(ItemKind::Other { name }, raw));
    };
    let id = Text::from(&*wire.id.0);
    let tool_name = wire.name.non_empty().unwrap_or(Text::from(*tool));
    if wire.kind.0 == "image_generation_call" && wire.status.0 == "completed" {
        let format = if wire.output_format.0.is_empty() { "png" } else { &*wire.output_format.0 };
        let media_type = Text::from(format!("image/{format}"));
        return Vec::from_iter(item(ItemKind::Media { media_type }, raw));
    }
    let call = ItemKind::ServerToolCall {
        id: id.clone(),
        tool_name: tool_name.clone(),
        arguments: arguments(wire),
    };
    let mut events = Vec::from_iter(item(call, raw));
    let answer = [wire.outputs, wire.output, wire.results, wire.error].into_iter().flatten().next();
    let has_ended = matches!(&*wire.status.0, "completed" | "failed");
    if has_ended || answer.is_some() {
        let is_error = wire.status.0 == "failed" || wire.error.is_some();
        let result = ItemKind::ServerToolResult { id, tool_name, is_error };
        events.extend(item(result, answer.unwrap_or(RawValue::NULL)));
    }
    events
}

/// Returns what a server's tool was asked; a text that is JSON counts as its value.
fn arguments(wire: &Item<'_>) -> Json {
    let asked = [wire.action, wire.queries, wire.code, wire.arguments, wire.input];
    let asked = asked.into_iter().flatten().next().unwrap_or(RawValue::NULL);
    Json::parse(&text(wire.arguments))
        .or_else(|_| Json::parse(asked.get()))
        .unwrap_or_else(|_| Json::from(&serde_json::Value::Null))
}
