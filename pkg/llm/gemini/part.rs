//! Decoding of one part of an answer into chunks.

use std::collections::HashMap;

use serde_json::{json, value::RawValue};

use super::{PROTOCOL, partial_args::PartialArgs, wire::GeminiPart};
use crate::{
    StreamChunk, ToolCallDelta,
    decode::tool_name,
    decode::{
        EventFault, JsonEntries, OutSink, fill,
        lax_json::{self, list},
    },
};
use forgeline_types::{ItemKind, Json, Signature, Text};

/// The tool that runs the model's code.
const CODE: &str = "code_execution";

/// The calls of an answer so far.
#[derive(Debug, Default)]
pub(super) struct GeminiCalls {
    /// The number of calls.
    count: u32,
    /// The call whose arguments arrive in pieces.
    open: Option<PartialArgs>,
    /// The names and arguments of whole calls, by their ids.
    whole: HashMap<Text, (Text, Text)>,
}

/// Emits the chunks of a part.
pub(super) fn read_part(
    raw: &RawValue,
    calls: &mut GeminiCalls,
    sink: &mut OutSink<'_>,
) -> Result<(), EventFault> {
    if !raw.get().starts_with('{') {
        return Ok(());
    }
    let mut part = GeminiPart::default();
    fill(raw.get(), &mut part)?;
    if part.function_call.is_some() {
        calls.read_call(&part, sink)?;
    } else if let Some(text) = part.text.take() {
        words(text.0, raw, &part, sink);
    } else if let Some(kind) = kind(&part).or_else(|| other(raw, &part)) {
        sink.item(kind, raw.get());
        return Ok(());
    }
    if !part.rest.is_empty() {
        sink.unknown_members("part", &part.rest);
    }
    Ok(())
}

impl GeminiCalls {
    /// Reads a call of one of the caller's tools: a whole call, or a piece of one if the server was asked for
    /// pieces.
    fn read_call(
        &mut self,
        part: &GeminiPart<'_>,
        sink: &mut OutSink<'_>,
    ) -> Result<(), EventFault> {
        let call = JsonEntries::from_raw(part.function_call);
        let goes_on = call.get("willContinue").is_some_and(|raw| raw.get() == "true");
        let pieces = list(call.get("partialArgs"));
        let (id, args) = (call.text("id"), call.get("args").map(RawValue::get));
        let begins = !call.text("name").is_empty() || !id.is_empty();
        if !id.is_empty() && args.is_some() {
            // Some servers send a call again with what follows it: one id is one call.
            let call = (call.text("name"), lax_json::arguments(args));
            if self.whole.get(&id) == Some(&call) {
                return Ok(());
            }
            self.whole.insert(id, call);
        }
        let mut delta = ToolCallDelta::default();
        if begins || args.is_some() {
            delta.index = self.count;
            self.count += 1;
            delta.name = Some(tool_name(&call.text("name")));
            delta.id = call.first_text(&["id"]);
            let proof = &part.thought_signature.0;
            let proof = Some(proof).filter(|proof| !proof.is_empty());
            delta.signature = proof.map(|proof| Signature::new(PROTOCOL, proof.clone()));
            self.open = Some(PartialArgs::default());
        } else {
            delta.index = self.count.saturating_sub(1);
        }
        // An empty call ends the one before it; if there is none, it is ignored.
        let Some(mut arguments) = self.open.take() else { return Ok(()) };
        for piece in pieces.into_iter().map(|raw| JsonEntries::from_raw(Some(raw))) {
            delta.arguments.push_str(&arguments.piece(&piece)?);
        }
        if args.is_some() {
            delta.arguments.push_str(&lax_json::arguments(args));
        } else if !goes_on {
            delta.arguments.push_str(&arguments.end());
        }
        delta.ended = !goes_on;
        self.open = Some(arguments).filter(|_| goes_on);
        sink.call(delta);
        Ok(())
    }
}

/// Emits text or a thought, and the signature that may come with it.
///
/// The signature of a text becomes an item of its own, in the form of the part that contains it: with an empty text
/// if it came so, or without a text if it belongs to the text just before.
fn words(text: Text, raw: &RawValue, part: &GeminiPart<'_>, sink: &mut OutSink<'_>) {
    let is_empty = text.is_empty();
    if !is_empty {
        sink.may_repeat();
        let make = if part.thought.0 { StreamChunk::thinking } else { StreamChunk::message };
        sink.emit(make(text));
    }
    let proof = part.thought_signature.0.clone();
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

/// Returns the kind of a part that becomes a provider item.
fn kind(part: &GeminiPart<'_>) -> Option<ItemKind> {
    let json = |raw: &RawValue| Json::parse(raw.get()).unwrap_or_default();
    let code = part.executable_code.or(part.code_execution_result);
    let tool = JsonEntries::from_raw(code.or(part.tool_call).or(part.tool_response));
    let tool_name = if code.is_some() { Text::from(CODE) } else { tool.text("toolType") };
    let id = tool.text("id");
    if let Some(raw) = part.executable_code {
        return Some(ItemKind::server_tool_call(id, tool_name, json(raw)));
    }
    if code.is_none() && part.tool_call.is_some() {
        let arguments = tool.get("args").map(json).unwrap_or_default();
        return Some(ItemKind::server_tool_call(id, tool_name, arguments));
    }
    if code.or(part.tool_response).is_some() {
        let is_error = code.is_some() && tool.text("outcome") != "OUTCOME_OK";
        return Some(ItemKind::server_tool_result(id, tool_name, is_error));
    }
    let media = JsonEntries::from_raw(Some(part.inline_data.or(part.file_data)?));
    Some(ItemKind::media(media.text("mimeType")))
}

/// Returns the kind of a part without known members: a signature alone, or something new.
fn other(raw: &RawValue, part: &GeminiPart<'_>) -> Option<ItemKind> {
    let part_entries = JsonEntries::from_raw(Some(raw));
    let mut names = part_entries.names();
    match names.find(|name| !matches!(*name, "thought" | "thoughtSignature")) {
        Some(name) => Some(ItemKind::other(name)),
        None if part.thought_signature.0.is_empty() => None,
        None => Some(ItemKind::Reasoning),
    }
}
