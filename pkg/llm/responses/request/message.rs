//! The encoding of one message as input items of Responses.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    approvals,
    tool_search::{self, SearchCall, ToolSearch},
};
use crate::{
    ProviderError,
    decode::{JsonEntries, lax_json::list},
    http::tool_names,
    http::{JsonItems, chat},
    responses::{
        PROTOCOL,
        extras::{CUSTOM, PHASE},
    },
};
use forgeline_json::subslice;
use forgeline_types::{
    ItemKind, Json, Message, MessageRole, Part, ProviderItem, ToolCall, ToolResult,
};

/// The context of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageContext<'p> {
    /// The preceding messages.
    pub(super) before: &'p [Arc<Message>],
    /// `true` if the vendor stores its answers.
    pub(super) is_stored: bool,
    /// The tool search, if the model supports it.
    pub(super) search: Option<&'p ToolSearch<'p>>,
}

/// Writes a message: its text, and every call, result and vendor item in its place.
///
/// Reasoning is sent back as the vendor's own item, never as text.
pub(super) fn encode(
    message: &Message,
    place: MessageContext<'_>,
    out: &mut JsonItems<'_>,
) -> Result<(), ProviderError> {
    let MessageContext { before, is_stored, search } = place;
    let mut items = MessageItems { role: message.role, content: Vec::new(), out };
    for (at, part) in message.parts.iter().enumerate() {
        match part {
            Part::Text { text, .. }
                if text.is_empty() && message.role == MessageRole::Assistant => {}
            Part::Text { .. } | Part::Image { .. } | Part::Document { .. } => {
                items.content.extend(content(part, message.role)?);
            }
            // The vendor's own item is sent back instead.
            Part::ToolCall(call) if is_custom(message, &call.id) => {}
            Part::ToolCall(call) if call.hosted => items.item(&approvals::request(call)),
            Part::ToolCall(call) if search.is_some() && tool_search::is_call(call) => {
                items.item(&SearchCall::new(call));
            }
            Part::ToolCall(call) => items.item(&tool_call(call, search)),
            Part::ToolResult(result) if approvals::is_answer(result, before) => {
                items.item(&approvals::answer(result));
            }
            Part::ToolResult(result) => {
                if let Some(search) = search.filter(|_| tool_search::is_result(result, before)) {
                    items.found(search.output(result));
                } else {
                    let asked = before.iter().rev().find(|it| it.role == MessageRole::Assistant);
                    let is_custom = asked.is_some_and(|asked| is_custom(asked, &result.call_id));
                    items.item(&tool_result(result, is_custom)?);
                }
            }
            Part::ProviderItem(item) if item.protocol != PROTOCOL || item.is_unknown_event() => {}
            Part::ProviderItem(item) => {
                let rest = subslice(&message.parts, at + 1..);
                items.vendor(item, is_stored, rest);
            }
            Part::Thinking { .. } | Part::Framing { .. } => {}
            _ => {}
        }
    }
    items.words(None);
    Ok(())
}

/// The items of one message while they are written.
struct MessageItems<'i, 'o> {
    role: MessageRole,
    /// The content of the message before its next item of another kind.
    content: Vec<Value>,
    out: &'i mut JsonItems<'o>,
}

impl MessageItems<'_, '_> {
    /// Writes the content so far as a message, with the purpose that the vendor gave it.
    fn words(&mut self, phase: Option<Value>) {
        self.message(self.role, phase);
    }

    fn message(&mut self, role: MessageRole, phase: Option<Value>) {
        if self.content.is_empty() {
            return;
        }
        let content = std::mem::take(&mut self.content);
        let mut message = Map::new();
        message.insert("type".into(), json!("message"));
        message.insert("role".into(), json!(chat::role(role)));
        message.insert("content".into(), Value::Array(content));
        message.extend(phase.map(|phase| (PHASE.to_owned(), phase)));
        self.out.push(&message);
    }

    /// Writes the result of a search, and the text that belongs to it.
    fn found(&mut self, (item, words): (Value, Vec<&str>)) {
        self.item(&item);
        let words = words.into_iter().map(|text| json!({ "type": "input_text", "text": text }));
        self.content.extend(words);
        self.message(MessageRole::User, None);
    }

    fn item(&mut self, item: &impl Serialize) {
        self.words(None);
        self.out.push(item);
    }

    /// Writes an item from the vendor, if it is sent back; `rest` are the parts after it in the message.
    fn vendor(&mut self, item: &ProviderItem, is_stored: bool, rest: &[Part]) {
        let goes_back = match &item.kind {
            ItemKind::Citation(_) | ItemKind::ServerToolResult { .. } => false,
            ItemKind::Reasoning => {
                rest.iter().any(may_follow) && (is_stored || is_readable(&item.raw))
            }
            ItemKind::Other { name, .. } if name == PHASE => {
                return self.words(Some(item.raw.to_value()));
            }
            ItemKind::ServerToolCall { .. } | ItemKind::Media { .. } | ItemKind::Other { .. } => {
                true
            }
            _ => true,
        };
        if goes_back {
            self.words(None);
            self.out.raw(item.raw.as_str());
        }
    }
}

/// Returns `true` for a part that may follow reasoning: the vendor rejects reasoning that led
/// to nothing, as in a truncated answer.
fn may_follow(part: &Part) -> bool {
    let is_text = part.as_text().is_some_and(|text| !text.is_empty());
    let is_item = part.as_provider_item().is_some_and(|item| match &item.kind {
        ItemKind::ServerToolCall { .. } | ItemKind::Media { .. } => true,
        ItemKind::Other { name, .. } => name != PHASE,
        ItemKind::Citation(_) | ItemKind::ServerToolResult { .. } | ItemKind::Reasoning => false,
        _ => false,
    });
    is_text || is_item || part.as_tool_call().is_some()
}

/// Returns `true` if a reasoning item contains its content. An item that consists of an id only is rejected by a
/// vendor that has not stored it.
fn is_readable(raw: &Json) -> bool {
    let reasoning = JsonEntries::parse(raw.as_str());
    reasoning.get("encrypted_content").is_some() || !list(reasoning.get("content")).is_empty()
}

fn content(part: &Part, role: MessageRole) -> Result<Option<Value>, ProviderError> {
    Ok(Some(match part {
        Part::Text { text, .. } if role == MessageRole::Assistant => {
            json!({ "type": "output_text", "text": text })
        }
        Part::Text { text, .. } => json!({ "type": "input_text", "text": text }),
        Part::Image { .. } | Part::Document { .. } if role == MessageRole::Assistant => {
            let feature = "images and documents in the model's own messages";
            return Err(ProviderError::unsupported(PROTOCOL, feature));
        }
        Part::Image { media_type, data, .. } => {
            json!({ "type": "input_image", "image_url": chat::url(media_type, data) })
        }
        Part::Document { data, .. } if chat::is_url(data) => {
            json!({ "type": "input_file", "file_url": data })
        }
        Part::Document { media_type, data, name, .. } => json!({
            "type": "input_file",
            "filename": name.as_deref().unwrap_or("document"),
            "file_data": chat::url(media_type, data),
        }),
        Part::Thinking { .. }
        | Part::Framing { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_) => {
            return Ok(None);
        }
        _ => {
            return Ok(None);
        }
    }))
}

/// Returns `true` if the vendor treats the arguments of this call in the message as plain text.
fn is_custom(message: &Message, call_id: &str) -> bool {
    message.parts.iter().filter_map(Part::as_provider_item).any(|item| {
        item.protocol == PROTOCOL
            && matches!(&item.kind, ItemKind::Other { name, .. } if name == CUSTOM)
            && JsonEntries::parse(item.raw.as_str()).text("call_id") == *call_id
    })
}

/// Encodes a call. Arguments that could not be read are sent as an empty object, because servers parse them.
fn tool_call(call: &ToolCall, search: Option<&ToolSearch<'_>>) -> Value {
    let arguments = call.arguments.as_ref().map_or("{}", |arguments| arguments.as_str());
    let name = tool_names::encode(&call.name);
    let mut item = json!({
        "type": "function_call",
        "call_id": call.id,
        "name": name,
        "arguments": arguments,
    });
    let more = call.signature.as_ref().map(|it| it.members(PROTOCOL)).unwrap_or_default();
    // A found function has a namespace with its name, and only there.
    let is_own = |key: &str, value: &Value| key == "namespace" && value.as_str() == Some(&*name);
    let more = more.into_iter().filter(|(key, value)| !is_own(key, value));
    more.for_each(|(key, value)| item[key] = value);
    if search.is_some_and(|search| search.describes(&name)) {
        item["namespace"] = json!(name);
    }
    item
}

fn tool_result(result: &ToolResult, is_custom: bool) -> Result<Value, ProviderError> {
    Ok(json!({
        "type": if is_custom { "custom_tool_call_output" } else { "function_call_output" },
        "call_id": result.call_id,
        "output": output(result)?,
    }))
}

/// Returns the text of a result, or a list if the result has more than text.
fn output(result: &ToolResult) -> Result<Value, ProviderError> {
    if result.parts.is_empty() {
        return Ok(json!(result.content));
    }
    let mut list = Vec::new();
    if !result.content.is_empty() {
        list.push(json!({ "type": "input_text", "text": result.content }));
    }
    for part in &result.parts {
        list.extend(content(part, MessageRole::User)?);
    }
    Ok(Value::Array(list))
}
