//! One part of an answer becomes chunks.

use serde_json::{Map, Value, json, value::RawValue};

use super::{
    PROTOCOL,
    wire::{FunctionCall, Media, Part, ToolOutcome, ToolUse},
};
use crate::{
    llm::{
        StreamChunk, ToolCallDelta,
        decode::{Emit, Fault, emit_events, item, lax_json::value},
        tool_names,
    },
    types::{ItemKind, Json, Text},
};

/// The tool that runs the model's code.
const CODE: &str = "code_execution";

/// Emits the chunks of a part; `index` is the next call's.
pub(super) fn read(raw: &RawValue, index: &mut u32, emit: Emit<'_>) -> Result<(), Fault> {
    if !raw.get().starts_with('{') {
        return Ok(());
    }
    let mut part: Part<'_> = serde_json::from_str(raw.get())?;
    if let Some(call) = part.function_call.take() {
        let call: FunctionCall<'_> = value(call);
        if call.is_partial() {
            return Err(Fault::Data(Text::from(
                "the arguments of a call come in pieces; do not ask for streamFunctionCallArguments",
            )));
        }
        emit(StreamChunk::calls(vec![delta(call, *index)]));
        *index += 1;
        if !part.thought_signature.0.is_empty() {
            emit(StreamChunk::signature(PROTOCOL, part.thought_signature.0));
        }
    } else if let Some(text) = part.text.take() {
        words(text.0, raw, part, emit);
    } else if let Some(kind) = kind(&part) {
        emit_item(kind, raw.get(), emit);
    } else {
        other(raw, &part, emit);
    }
    Ok(())
}

fn emit_item(kind: ItemKind, raw: &str, emit: Emit<'_>) {
    emit_events(item(PROTOCOL, kind, raw), emit);
}

fn delta(call: FunctionCall<'_>, index: u32) -> ToolCallDelta {
    let arguments = call.arguments();
    let mut delta = ToolCallDelta::new(index).arguments(arguments);
    delta.name = Some(tool_names::decode(&call.name.0));
    delta.id = call.id.non_empty();
    delta.ended = true;
    delta
}

/// Emits text or a thought, and the signature that may come with it.
///
/// A signature of a text is kept for itself, in the form of the part that brings it: with an empty text
/// when it came so, without one when it belongs to the words before it.
fn words(text: Text, raw: &RawValue, part: Part<'_>, emit: Emit<'_>) {
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
        emit_item(ItemKind::Reasoning, raw.get(), emit);
    } else if part.thought.0 {
        emit(StreamChunk::signature(PROTOCOL, proof));
    } else {
        let raw = json!({ "thoughtSignature": proof }).to_string();
        emit_item(ItemKind::Reasoning, &raw, emit);
    }
}

/// Returns the kind of a part that stays the server's own.
fn kind(part: &Part<'_>) -> Option<ItemKind> {
    let json = |raw: &RawValue| Json::parse(raw.get()).unwrap_or_default();
    if let Some(raw) = part.executable_code {
        let (id, tool_name) = (value::<ToolOutcome>(raw).id.0, Text::from(CODE));
        return Some(ItemKind::ServerToolCall { id, tool_name, arguments: json(raw) });
    }
    if let Some(raw) = part.tool_call {
        let tool: ToolUse<'_> = value(raw);
        let arguments = tool.args.map(json).unwrap_or_default();
        let (id, tool_name) = (tool.id.0, tool.tool_type.0);
        return Some(ItemKind::ServerToolCall { id, tool_name, arguments });
    }
    if let Some(raw) = part.code_execution_result {
        let ToolOutcome { id, outcome, .. } = value(raw);
        let (tool_name, is_error) = (Text::from(CODE), outcome.0 != "OUTCOME_OK");
        return Some(ItemKind::ServerToolResult { id: id.0, tool_name, is_error });
    }
    if let Some(raw) = part.tool_response {
        let ToolOutcome { id, tool_type, .. } = value(raw);
        let (id, tool_name) = (id.0, tool_type.0);
        return Some(ItemKind::ServerToolResult { id, tool_name, is_error: false });
    }
    let media: Media = value(part.inline_data.or(part.file_data)?);
    Some(ItemKind::Media { media_type: media.mime_type.0 })
}

/// Emits a part without known members: a signature alone, or something new.
fn other(raw: &RawValue, part: &Part<'_>, emit: Emit<'_>) {
    let keys: Map<String, Value> = serde_json::from_str(raw.get()).unwrap_or_default();
    let mut keys = keys.into_iter().map(|(key, _)| key);
    let name = keys.find(|key| key != "thought" && key != "thoughtSignature");
    let kind = match name {
        Some(name) => ItemKind::Other { name: Text::from(name) },
        None if part.thought_signature.0.is_empty() => return,
        None => ItemKind::Reasoning,
    };
    emit_item(kind, raw.get(), emit);
}
