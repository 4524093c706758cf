//! The encoding of one message for Cohere.

use serde_json::{Map, Value, json};

use crate::{
    ProviderError,
    cohere::PROTOCOL,
    http::{JsonItems, chat},
};
use forgeline_types::{Message, Part};

/// Writes a message; one that answers several calls becomes several messages on the wire, and one
/// without anything that Cohere accepts is left out.
pub(super) fn encode(message: &Message, items: &mut JsonItems<'_>) -> Result<(), ProviderError> {
    let message = &*chat::with_texts(message);
    message.tool_results().for_each(|result| items.push(&chat::tool_result(result)));
    let mut fields = Map::from_iter([("role".to_owned(), json!(chat::role(message.role)))]);
    let calls: Vec<_> = message.tool_calls().map(chat::tool_call).collect();
    if !calls.is_empty() {
        let plan: String = message.parts.iter().filter_map(thought).collect();
        if !plan.is_empty() {
            fields.insert("tool_plan".to_owned(), json!(plan));
        }
        fields.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    if let Some(content) = content(message)? {
        fields.insert("content".to_owned(), content);
    }
    if fields.len() > 1 {
        items.push(&fields);
    }
    Ok(())
}

/// Returns the reasoning in a part. Reasoning with a signature comes from another vendor.
fn thought(part: &Part) -> Option<&str> {
    if let Part::Thinking { text, signature: None, .. } = part { Some(text) } else { None }
}

/// Returns a text, or a list of parts if there are images; `None` if there is no content.
fn content(message: &Message) -> Result<Option<Value>, ProviderError> {
    let is_document = |part: &Part| matches!(part, Part::Document { .. });
    if message.parts.iter().any(is_document) {
        let feature = "documents in messages; put their text there";
        return Err(ProviderError::unsupported(PROTOCOL, feature));
    }
    let content = chat::content(message, |part| Ok(rich(part)))?;
    Ok(Some(content).filter(|content| *content != ""))
}

fn rich(part: &Part) -> Option<Value> {
    if let Part::Image { media_type, data, .. } = part {
        return Some(chat::image(media_type, data));
    }
    let text = part.as_text().filter(|text| !text.is_empty())?;
    Some(json!({ "type": "text", "text": text }))
}
