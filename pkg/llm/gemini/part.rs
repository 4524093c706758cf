//! One part of an answer becomes chunks.

use serde_json::{json, value::RawValue};

use super::wire::Part;
use crate::{
    llm::{
        StreamChunk, ToolCallDelta,
        decode::{Entries, Fault, Sink, lax_json::plain},
        tool_names,
    },
    types::{ItemKind, Json, Text},
};

/// The tool that runs the model's code.
const CODE: &str = "code_execution";

/// Emits the chunks of a part; `index` is the next call's.
pub(super) fn read(raw: &RawValue, index: &mut u32, sink: &mut Sink<'_>) -> Result<(), Fault> {
    if !raw.get().starts_with('{') {
        return Ok(());
    }
    let mut part: Part<'_> = serde_json::from_str(raw.get())?;
    if part.function_call.is_some() {
        sink.call(call(&Entries::of(part.function_call), *index)?);
        *index += 1;
        sink.signature(part.thought_signature.0);
    } else if let Some(text) = part.text.take() {
        words(text.0, raw, part, sink);
    } else if let Some(kind) = kind(&part).or_else(|| other(raw, &part)) {
        sink.item(kind, raw.get());
    }
    Ok(())
}

/// Returns a call of one of the caller's tools, which comes whole unless the server was asked for
/// pieces.
fn call(call: &Entries<'_>, index: u32) -> Result<ToolCallDelta, Fault> {
    let will_continue = call.get("willContinue").is_some_and(|raw| raw.get() == "true");
    if will_continue || call.get("partialArgs").is_some() {
        return Err(Fault::data(
            "the arguments of a call come in pieces; do not ask for streamFunctionCallArguments",
        ));
    }
    let arguments = call.get("args").and_then(|args| Json::parse(args.get()).ok());
    let arguments = arguments.map_or_else(|| "{}".to_owned(), |json| plain(json.as_str()));
    let mut delta = ToolCallDelta::new(index).arguments(arguments);
    delta.name = Some(tool_names::decode(&call.text("name")));
    delta.id = call.first_text(&["id"]);
    delta.ended = true;
    Ok(delta)
}

/// Emits text or a thought, and the signature that may come with it.
///
/// A signature of a text is kept for itself, in the form of the part that brings it: with an empty text
/// when it came so, without one when it belongs to the words before it.
fn words(text: Text, raw: &RawValue, part: Part<'_>, sink: &mut Sink<'_>) {
    let is_empty = text.is_empty();
    if !is_empty {
        let make = if part.thought.0 { StreamChunk::thinking } else { StreamChunk::message };
        sink.emit(make(text));
    }
    let proof = part.thought_signature.0;
    if proof.is_empty() {
        return;
    }
    if is_empty {
        sink.item(ItemKind::Reasoning, raw.get());
    } else if part.thought.0 {
        sink.signature(proof);
    } else {
        let raw = json!({ "thoughtSignature": proof }).to_string();
        sink.item(ItemKind::Reasoning, &raw);
    }
}

/// Returns the kind of a part that stays the server's own.
fn kind(part: &Part<'_>) -> Option<ItemKind> {
    let json = |raw: &RawValue| Json::parse(raw.get()).unwrap_or_default();
    let code = part.executable_code.or(part.code_execution_result);
    let tool = Entries::of(code.or(part.tool_call).or(part.tool_response));
    let tool_name = if code.is_some() { Text::from(CODE) } else { tool.text("toolType") };
    let id = tool.text("id");
    if let Some(raw) = part.executable_code {
        return Some(ItemKind::ServerToolCall { id, tool_name, arguments: json(raw) });
    }
    if code.is_none() && part.tool_call.is_some() {
        let arguments = tool.get("args").map(json).unwrap_or_default();
        return Some(ItemKind::ServerToolCall { id, tool_name, arguments });
    }
    if code.or(part.tool_response).is_some() {
        let is_error = code.is_some() && tool.text("outcome") != "OUTCOME_OK";
        return Some(ItemKind::ServerToolResult { id, tool_name, is_error });
    }
    let media = Entries::of(Some(part.inline_data.or(part.file_data)?));
    Some(ItemKind::Media { media_type: media.text("mimeType") })
}

/// Returns the kind of a part without known members: a signature alone, or something new.
fn other(raw: &RawValue, part: &Part<'_>) -> Option<ItemKind> {
    let part_entries = Entries::of(Some(raw));
    let mut names = part_entries.names();
    match names.find(|name| !matches!(*name, "thought" | "thoughtSignature")) {
        Some(name) => Some(ItemKind::Other { name: Text::from(name) }),
        None if part.thought_signature.0.is_empty() => None,
        None => Some(ItemKind::Reasoning),
    }
}
