//! The encoding of one message for Chat Completions.

use serde_json::{Map, Value, json};

use crate::{
    ProviderError,
    decode::JsonEntries,
    http::{JsonItems, chat},
    openai::{
        PROTOCOL,
        reasoning::{BLOCKS, DETAILS},
        wire::{REASONING, REASONING_CONTENT, REASONING_TEXT},
    },
};
use forgeline_types::{ItemKind, Message, Part, Text, ToolCall};

/// Writes a message; one that answers several calls becomes several messages on the wire.
///
/// Reasoning is sent back in the member that it came in, if the server `takes_reasoning`. Reasoning that
/// came in no member, such as text between tags or from another protocol, is not sent.
pub(super) fn encode(
    message: &Message,
    takes_reasoning: bool,
    items: &mut JsonItems<'_>,
) -> Result<(), ProviderError> {
    let message = &*chat::with_texts(message);
    message.tool_results().for_each(|result| items.push(&chat::tool_result(result)));
    let calls = message.tool_calls().map(|call| tool_call(call, takes_reasoning));
    let calls: Vec<_> = calls.collect();
    let has_result = message.tool_results().next().is_some();
    let content = chat::content(message, rich)?;
    let mut reasoning = if takes_reasoning { reasoning(message) } else { Map::new() };
    let content = match reasoning.remove("content") {
        Some(Value::Array(before)) => with_parts(before, content),
        _ => content,
    };
    if !calls.is_empty() || !reasoning.is_empty() {
        let mut said = Map::from_iter([
            ("role".to_owned(), json!("assistant")),
            ("content".to_owned(), content),
        ]);
        said.extend(reasoning);
        if !calls.is_empty() {
            said.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        items.push(&said);
    } else if !has_result || content != json!("") {
        items.push(&json!({ "role": chat::role(message.role), "content": content }));
    }
    Ok(())
}

/// Returns the members with the message's reasoning. If there are details, they contain the whole reasoning.
fn reasoning(message: &Message) -> Map<String, Value> {
    let (mut members, mut own_members) = (Map::new(), Map::new());
    for part in &message.parts {
        if let Part::Thinking { text, signature: Some(signature) } = part {
            let member = signature.for_protocol(PROTOCOL).map(Text::as_str);
            // Reasoning without a member's name did not come in one.
            if let Some(member @ (REASONING_CONTENT | REASONING | REASONING_TEXT)) =
                member.filter(|_| !text.is_empty())
                && let Value::String(known) = members.entry(member).or_insert_with(|| json!(""))
            {
                known.push_str(text);
            }
        }
        let own = part.as_provider_item().filter(|item| item.protocol == PROTOCOL);
        if let Some(item) = own.filter(|item| item.kind == ItemKind::Reasoning) {
            let Value::Object(raw) = item.raw.to_value() else { continue };
            for (name, value) in raw.into_iter().filter(|(name, _)| GO_BACK.contains(&&**name)) {
                match (own_members.get_mut(&name), value) {
                    (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
                    (_, value) => drop(own_members.insert(name, value)),
                }
            }
        }
    }
    if own_members.contains_key(DETAILS) {
        members = Map::new();
    }
    members.extend(own_members);
    members
}

/// The members of reasoning items that are sent back as members of the message; of these, the content goes
/// before the message's text.
const GO_BACK: [&str; 6] =
    [DETAILS, BLOCKS, "reasoning_opaque", "extra_content", "provider_specific_fields", "content"];

/// Returns `content` preceded by `parts`.
fn with_parts(mut parts: Vec<Value>, content: Value) -> Value {
    match content {
        Value::Array(more) => parts.extend(more),
        Value::String(text) if text.is_empty() => {}
        Value::String(text) => parts.push(json!({ "type": "text", "text": text })),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
    Value::Array(parts)
}

/// Encodes a call with the additional members that its server wants back, if the server `takes_more` than is documented.
fn tool_call(call: &ToolCall, takes_more: bool) -> Value {
    let mut value = chat::tool_call(call);
    let Some(signature) = &call.signature else { return value };
    let proof = signature.for_protocol(PROTOCOL).filter(|proof| !proof.starts_with('{'));
    if let Some(proof) = proof.filter(|_| takes_more) {
        value["extra_content"] = json!({ "google": { "thought_signature": proof } });
    }
    for (name, member) in signature.members(PROTOCOL) {
        if name == "type" {
            let input = JsonEntries::parse(call.arguments_raw.as_str()).text("input");
            value = json!({
                "id": call.id,
                "type": member,
                "custom": { "name": value["function"]["name"], "input": input },
            });
        } else if takes_more {
            value[name] = member;
        }
    }
    value
}

fn rich(part: &Part) -> Result<Option<Value>, ProviderError> {
    Ok(match part {
        Part::Text { text } => Some(json!({ "type": "text", "text": text })),
        Part::Image { media_type, data } => Some(chat::image(media_type, data)),
        Part::Document { data, .. } if chat::is_url(data) => {
            let feature = "documents by URL; send the bytes in base64";
            return Err(ProviderError::unsupported("openai", feature));
        }
        Part::Document { media_type, data, name } => Some(json!({
            "type": "file",
            "file": {
                "filename": name.as_deref().unwrap_or("document"),
                "file_data": chat::url(media_type, data),
            },
        })),
        Part::Thinking { .. } | Part::ToolCall(_) | Part::ToolResult(_) | Part::ProviderItem(_) => {
            None
        }
        _ => None,
    })
}
