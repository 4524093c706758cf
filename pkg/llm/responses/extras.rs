//! What an answer holds besides text, reasoning and calls, as items that go back as they came.

use serde_json::value::RawValue;

use super::wire::{self, Annotation, Item};
use crate::{
    llm::Protocol,
    types::{AgentEvent, Citation, ItemKind, Json, ProviderItem, Text},
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

fn event(kind: ItemKind, raw: Json) -> AgentEvent {
    AgentEvent::ProviderItem(ProviderItem::new(Protocol::OpenAiResponses.name(), kind, raw))
}

/// A source of the text before it.
pub(super) fn citation(raw: &RawValue) -> Option<AgentEvent> {
    let annotation: Annotation<'_> = wire::value(raw);
    let word = |text: &str| (!text.is_empty()).then(|| Text::from(text));
    let citation = Citation {
        url: word(&annotation.url.0),
        title: word(&annotation.title.0).or_else(|| word(&annotation.filename.0)),
        start: annotation.start_index.0,
        end: annotation.end_index.0,
        ..Citation::default()
    };
    Some(event(ItemKind::Citation(citation), Json::parse(raw.get()).ok()?))
}

/// A reasoning item, which the next request needs.
pub(super) fn reasoning(raw: &RawValue) -> Option<AgentEvent> {
    Some(event(ItemKind::Reasoning, Json::parse(raw.get()).ok()?))
}

/// What the server calls the purpose of the message before it, such as `commentary`: models want it
/// back with the message.
pub(super) fn phase(item: &Item<'_>) -> Option<AgentEvent> {
    let raw = item.phase?;
    let kind = ItemKind::Other { name: Text::from(PHASE) };
    Some(event(kind, Json::parse(raw.get()).ok()?))
}

/// A call whose arguments are a text: as the vendor wrote it, which is how it goes back.
pub(super) fn custom_call(raw: &RawValue, item: &Item<'_>) -> Option<AgentEvent> {
    let kind = ItemKind::Other { name: Text::from(CUSTOM) };
    let raw = Json::parse(raw.get()).ok()?;
    (!item.call_id.0.is_empty()).then(|| event(kind, raw))
}

/// An item that is neither message nor reasoning nor a call for the agent.
///
/// Of a server's tool the call has the whole item, which goes back; its result has what the tool
/// answered, or `null` where the server keeps that to itself.
pub(super) fn other(raw: &RawValue, item: &Item<'_>) -> Vec<AgentEvent> {
    let Ok(whole) = Json::parse(raw.get()) else { return Vec::new() };
    let known = SERVER_TOOLS.iter().find(|(kind, _)| *kind == item.kind.0);
    let Some((_, tool)) = known else {
        let name = Text::from(if item.kind.0.is_empty() { "item" } else { &*item.kind.0 });
        return vec![event(ItemKind::Other { name }, whole)];
    };
    let id = Text::from(&*item.id.0);
    let tool_name = Text::from(if item.name.0.is_empty() { tool } else { &*item.name.0 });
    if item.kind.0 == "image_generation_call" && item.status.0 == "completed" {
        let format = if item.output_format.0.is_empty() { "png" } else { &*item.output_format.0 };
        let media_type = Text::from(format!("image/{format}"));
        return vec![event(ItemKind::Media { media_type }, whole)];
    }
    let call = ItemKind::ServerToolCall {
        id: id.clone(),
        tool_name: tool_name.clone(),
        arguments: arguments(item),
    };
    let mut events = vec![event(call, whole)];
    let answer = [item.outputs, item.output, item.results, item.error].into_iter().flatten().next();
    let has_ended = matches!(&*item.status.0, "completed" | "failed");
    if has_ended || answer.is_some() {
        let is_error = item.status.0 == "failed" || item.error.is_some();
        let answer = answer.map_or("null", RawValue::get);
        events.extend(
            Json::parse(answer)
                .ok()
                .map(|raw| event(ItemKind::ServerToolResult { id, tool_name, is_error }, raw)),
        );
    }
    events
}

/// What a server's tool was asked; a text that is JSON counts as what it says.
fn arguments(item: &Item<'_>) -> Json {
    let asked = [item.action, item.queries, item.code, item.arguments, item.input];
    let asked = asked.into_iter().flatten().next();
    let inner = Json::parse(&wire::text(item.arguments)).ok();
    inner
        .or_else(|| Json::parse(asked?.get()).ok())
        .unwrap_or_else(|| Json::from(&serde_json::Value::Null))
}
