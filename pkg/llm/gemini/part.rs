//! One part of an answer becomes chunks.

use serde_json::{Map, Value, json, value::RawValue};

use super::{
    PROTOCOL,
    wire::{FunctionCall, Part, PartFields, ToolOutcome},
};
use crate::{
    llm::{StreamChunk, ToolCallDelta, tool_names},
    types::{AgentEvent, ItemKind, Json, ProviderItem, Text},
};

/// The tool that runs the model's code.
const CODE: &str = "code_execution";

/// Gives the chunks of a part; `index` is the next call's.
pub(super) fn read(part: Part<'_>, index: &mut u32, emit: &mut dyn FnMut(StreamChunk)) {
    let Part { raw: Some(raw), mut fields } = part else { return };
    if let Some(call) = fields.function_call.0.take() {
        emit(StreamChunk::calls(vec![delta(call, *index)]));
        *index += 1;
        if !fields.thought_signature.0.is_empty() {
            emit(StreamChunk::signature(fields.thought_signature.0));
        }
    } else if let Some(kind) = kind(&mut fields) {
        emit_item(kind, Json::parse(raw.get()).ok(), emit);
    } else if let Some(text) = fields.text.take() {
        words(text.0, raw, fields, emit);
    } else {
        other(raw, &fields, emit);
    }
}

/// Passes on an item of ours.
pub(super) fn emit_item(kind: ItemKind, raw: Option<Json>, emit: &mut dyn FnMut(StreamChunk)) {
    let item = raw.map(|raw| ProviderItem::new(PROTOCOL, kind, raw));
    emit_items(item.into_iter().collect(), emit);
}

/// Passes on items, if there are any.
pub(super) fn emit_items(items: Vec<ProviderItem>, emit: &mut dyn FnMut(StreamChunk)) {
    if !items.is_empty() {
        emit(StreamChunk::events(items.into_iter().map(AgentEvent::ProviderItem).collect()));
    }
}

fn delta(call: FunctionCall<'_>, index: u32) -> ToolCallDelta {
    let arguments = call.arguments();
    let mut delta = ToolCallDelta::new(index).arguments(arguments);
    delta.name = Some(tool_names::decode(&call.name.0));
    delta.id = Some(call.id.0).filter(|id| !id.is_empty());
    delta.ended = true;
    delta
}

/// Text or a thought, and the proof that may come with it.
///
/// A proof of a text is kept for itself, in the form of the part that brings it: with an empty text
/// when it came so, without one when it belongs to the words before it.
fn words(text: Text, raw: &RawValue, fields: PartFields<'_>, emit: &mut dyn FnMut(StreamChunk)) {
    let is_empty = text.is_empty();
    if !is_empty {
        let make = if fields.thought.0 { StreamChunk::thinking } else { StreamChunk::message };
        emit(make(text));
    }
    let proof = fields.thought_signature.0;
    if proof.is_empty() {
        return;
    }
    if is_empty {
        emit_item(ItemKind::Reasoning, Json::parse(raw.get()).ok(), emit);
    } else if fields.thought.0 {
        emit(StreamChunk::signature(proof));
    } else {
        let raw = Json::from(json!({ "thoughtSignature": proof }));
        emit_item(ItemKind::Reasoning, Some(raw), emit);
    }
}

/// What a part is that stays the server's own.
fn kind(fields: &mut PartFields<'_>) -> Option<ItemKind> {
    if let Some(code) = fields.executable_code {
        return Some(ItemKind::ServerToolCall {
            id: id_of(code),
            tool_name: Text::from(CODE),
            arguments: Json::parse(code.get()).unwrap_or_default(),
        });
    }
    if let Some(tool) = fields.tool_call.0.take() {
        return Some(ItemKind::ServerToolCall {
            id: tool.id.0,
            tool_name: tool.tool_type.0,
            arguments: tool.args.and_then(|args| Json::parse(args.get()).ok()).unwrap_or_default(),
        });
    }
    if let Some(ToolOutcome { id, outcome, .. }) = fields.code_execution_result.0.take() {
        let is_error = outcome.0 != "OUTCOME_OK";
        return Some(ItemKind::ServerToolResult {
            id: id.0,
            tool_name: Text::from(CODE),
            is_error,
        });
    }
    if let Some(ToolOutcome { id, tool_type, .. }) = fields.tool_response.0.take() {
        let (id, tool_name) = (id.0, tool_type.0);
        return Some(ItemKind::ServerToolResult { id, tool_name, is_error: false });
    }
    let media = fields.inline_data.0.take().or_else(|| fields.file_data.0.take())?;
    Some(ItemKind::Media { media_type: media.mime_type.0 })
}

fn id_of(raw: &RawValue) -> Text {
    serde_json::from_str::<ToolOutcome>(raw.get()).map(|call| call.id.0).unwrap_or_default()
}

/// A part that says nothing we know: a proof alone, or something new.
fn other(raw: &RawValue, fields: &PartFields<'_>, emit: &mut dyn FnMut(StreamChunk)) {
    let keys: Map<String, Value> = serde_json::from_str(raw.get()).unwrap_or_default();
    let mut keys = keys.into_iter().map(|(key, _)| key);
    let name = keys.find(|key| key != "thought" && key != "thoughtSignature");
    let kind = match name {
        Some(name) => ItemKind::Other { name: Text::from(name) },
        None if fields.thought_signature.0.is_empty() => return,
        None => ItemKind::Reasoning,
    };
    emit_item(kind, Json::parse(raw.get()).ok(), emit);
}
