//! One part of an answer becomes chunks.

use serde_json::{Map, Value, json, value::RawValue};

use super::{
    PROTOCOL,
    wire::{self, FunctionCall, Media, Part, ToolOutcome, ToolUse},
};
use crate::{
    llm::{StreamChunk, ToolCallDelta, surrogates::Mended, tool_names},
    types::{AgentEvent, ItemKind, Json, ProviderItem, Text},
};

/// The tool that runs the model's code.
const CODE: &str = "code_execution";

/// Gives the chunks of a part; `index` is the next call's.
///
/// # Errors
///
/// What is wrong with the part.
pub(super) fn read(
    raw: &RawValue,
    index: &mut u32,
    emit: &mut dyn FnMut(StreamChunk),
) -> Result<(), Text> {
    if !raw.get().starts_with('{') {
        return Ok(());
    }
    let part = serde_json::from_str(raw.get());
    let error = match part {
        Ok(part) => return say(part, raw, index, emit),
        Err(error) => error,
    };
    // A gateway that cuts text between UTF-16 units leaves half characters.
    let mended = Mended::new(raw.get());
    let again: Result<&RawValue, _> = serde_json::from_str(mended.json());
    match again.and_then(|raw| Ok((raw, serde_json::from_str(raw.get())?))) {
        Ok((raw, part)) => say(part, raw, index, emit),
        Err(_) => Err(Text::from(format!("a part of an answer: {error}"))),
    }
}

fn say(
    mut part: Part<'_>,
    raw: &RawValue,
    index: &mut u32,
    emit: &mut dyn FnMut(StreamChunk),
) -> Result<(), Text> {
    if let Some(call) = part.function_call.take() {
        let call: FunctionCall<'_> = wire::read(call);
        if call.is_partial() {
            return Err(Text::from(
                "the arguments of a call come in pieces; do not ask for streamFunctionCallArguments",
            ));
        }
        emit(StreamChunk::calls(vec![delta(call, *index)]));
        *index += 1;
        if !part.thought_signature.0.is_empty() {
            emit(StreamChunk::signature(PROTOCOL, part.thought_signature.0));
        }
    } else if let Some(text) = part.text.take() {
        words(text.0, raw, part, emit);
    } else if let Some(kind) = kind(&part) {
        emit_item(kind, Json::parse(raw.get()).ok(), emit);
    } else {
        other(raw, &part, emit);
    }
    Ok(())
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
fn words(text: Text, raw: &RawValue, part: Part<'_>, emit: &mut dyn FnMut(StreamChunk)) {
    let is_empty = text.is_empty();
    if !is_empty {
        let make = if part.thought.0 { StreamChunk::thinking } else { StreamChunk::message };
        emit(make(text));
    }
    let proof = part.thought_signature.0;
    if proof.is_empty() {
        return;
    }
    if is_empty {
        emit_item(ItemKind::Reasoning, Json::parse(raw.get()).ok(), emit);
    } else if part.thought.0 {
        emit(StreamChunk::signature(PROTOCOL, proof));
    } else {
        let raw = Json::from(json!({ "thoughtSignature": proof }));
        emit_item(ItemKind::Reasoning, Some(raw), emit);
    }
}

/// What a part is that stays the server's own.
fn kind(part: &Part<'_>) -> Option<ItemKind> {
    let json = |raw: &RawValue| Json::parse(raw.get()).unwrap_or_default();
    if let Some(raw) = part.executable_code {
        let (id, tool_name) = (wire::read::<ToolOutcome>(raw).id.0, Text::from(CODE));
        return Some(ItemKind::ServerToolCall { id, tool_name, arguments: json(raw) });
    }
    if let Some(raw) = part.tool_call {
        let tool: ToolUse<'_> = wire::read(raw);
        let arguments = tool.args.map(json).unwrap_or_default();
        let (id, tool_name) = (tool.id.0, tool.tool_type.0);
        return Some(ItemKind::ServerToolCall { id, tool_name, arguments });
    }
    if let Some(raw) = part.code_execution_result {
        let ToolOutcome { id, outcome, .. } = wire::read(raw);
        let (tool_name, is_error) = (Text::from(CODE), outcome.0 != "OUTCOME_OK");
        return Some(ItemKind::ServerToolResult { id: id.0, tool_name, is_error });
    }
    if let Some(raw) = part.tool_response {
        let ToolOutcome { id, tool_type, .. } = wire::read(raw);
        let (id, tool_name) = (id.0, tool_type.0);
        return Some(ItemKind::ServerToolResult { id, tool_name, is_error: false });
    }
    let media: Media = wire::read(part.inline_data.or(part.file_data)?);
    Some(ItemKind::Media { media_type: media.mime_type.0 })
}

/// A part that says nothing we know: a proof alone, or something new.
fn other(raw: &RawValue, part: &Part<'_>, emit: &mut dyn FnMut(StreamChunk)) {
    let keys: Map<String, Value> = serde_json::from_str(raw.get()).unwrap_or_default();
    let mut keys = keys.into_iter().map(|(key, _)| key);
    let name = keys.find(|key| key != "thought" && key != "thoughtSignature");
    let kind = match name {
        Some(name) => ItemKind::Other { name: Text::from(name) },
        None if part.thought_signature.0.is_empty() => return,
        None => ItemKind::Reasoning,
    };
    emit_item(kind, Json::parse(raw.get()).ok(), emit);
}
